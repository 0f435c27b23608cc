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

// Local returns the access rules and the Service of a hub whose views are served on the machine of the API server. The
// registration is separate. The files are read-only.
func Local() fs.FS { return local }

// Registration returns the APIService of the views, which the manager stores itself. The files are read-only.
func Registration() fs.FS { return registration }
