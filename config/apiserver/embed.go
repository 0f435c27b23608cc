// Package apiserver holds the manifests that make the views known to an API server, as files in the binary.
//
// It owns the files, cluster.yaml for a cluster among them, and refuses to know who applies them.
package apiserver

import (
	_ "embed"
	"encoding/base64"
	"strconv"
	"strings"
)

// ServerName is the name that the API server expects in the certificate of the views.
const ServerName = "berth-views.berth-system.svc"

//go:embed access.yaml
var access string

//go:embed local.yaml
var local string

// Access returns the manifest that lets everybody ask for the views, and lets the manager know who asks.
func Access() string { return access }

// Local returns the manifest for views that are served on a port of the API server's own machine, with a certificate
// for ServerName from an authority that is given as PEM.
func Local(port int, authority []byte) string {
	return strings.NewReplacer(
		"caBundle: AUTHORITY", "caBundle: "+base64.StdEncoding.EncodeToString(authority),
		"port: PORT", "port: "+strconv.Itoa(port),
	).Replace(local)
}
