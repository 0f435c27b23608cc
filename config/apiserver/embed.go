// Package apiserver contains the manifests that register the views with an API server, as files in the binary.
//
// It owns the files. Callers apply them. The folder may be applied as a whole to a cluster, with cluster.yaml. The folder local
// replaces cluster.yaml on a hub in one process.
package apiserver

import (
	"embed"
	"io/fs"
)

// ServerName is the name that the API server expects in the certificate of the views.
const ServerName = "berth-views.berth-system.svc"

//go:embed access.yaml local/service.yaml
var local embed.FS

//go:embed apiservice.yaml
var registration embed.FS

// Local returns what a hub needs beside the registration where the views are served on the API server's own machine:
// access, and the Service. The files are read-only.
func Local() fs.FS { return local }

// Registration returns the APIService that names the views, which the manager stores itself. The files are read-only.
func Registration() fs.FS { return registration }
