// Package apiserver holds the manifests that make the views known to an API server, as files in the binary.
//
// It owns the files, cluster.yaml for a cluster among them, and refuses to know who applies them. What is in its own folder may be
// applied as a whole to a cluster; local holds what takes the place of cluster.yaml on a hub in one process.
package apiserver

import (
	"embed"
	"io/fs"
)

// ServerName is the name that the API server expects in the certificate of the views.
const ServerName = "berth-views.berth-system.svc"

//go:embed access.yaml
var access string

//go:embed access.yaml local/service.yaml
var local embed.FS

//go:embed apiservice.yaml
var registration embed.FS

// Access returns the manifest that lets everybody ask for the views, and lets the manager know who asks.
func Access() string { return access }

// Local returns what a hub needs beside the registration where the views are served on the API server's own machine:
// access, and the Service. The files are read-only.
func Local() fs.FS { return local }

// Registration returns the APIService that names the views, which the manager stores itself. The files are read-only.
func Registration() fs.FS { return registration }
