package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"k8s.io/client-go/rest"
)

const maxPort = 65535

var errNoDataDir = errors.New("starting the hub: no data folder given")

// Options configures a hub. The zero value of every field but DataDir is a
// sensible default.
type Options struct {
	// DataDir is the folder with all data of the hub. It is created if needed, survives restarts, and belongs to one hub at a
	// time.
	DataDir string
	// Port is the API server's port on 127.0.0.1. 0 is the port of the last start if that is free, and any free port otherwise.
	Port int
	// EtcdPort is etcd's port on 127.0.0.1. 0 is any free port.
	EtcdPort int
	// Manifests are applied at every start, definitions of custom resources first:
	// every *.yaml and *.yml below each file system.
	Manifests []fs.FS
	// Objects are applied once the manager is ready, because its webhooks may change them. The custom resource definitions
	// among them are applied with the Manifests.
	Objects []fs.FS
	// Manager runs once the control plane is ready, with a kubeconfig of its own. It must return when its context ends. If it
	// returns earlier, the hub stops. nil runs the control plane alone.
	Manager func(ctx context.Context, kubeconfig string) error
	// ManagerReady returns once the manager provides all its services. Its argument is the configuration of an administrator.
	// The hub is not ready before. nil means no wait.
	ManagerReady func(ctx context.Context, admin *rest.Config) error
	// ManagerIdentity is the user of the manager's kubeconfig. The zero value is an administrator. The service account of a
	// cluster limits the manager to its permissions there.
	ManagerIdentity Identity
	// NoFsync is faster, and may lose data in a power cut. It is for temporary hubs.
	NoFsync bool
	// Verbosity is the level of the log in the data folder, as in Kubernetes: 0 is
	// quiet, 2 is usual for servers, 4 is debugging.
	Verbosity int
	// Log receives a copy of the log file. It may be nil.
	Log io.Writer
}

// Identity is a user with groups, as in a client certificate.
type Identity struct {
	User   string
	Groups []string
}

func (o Options) validate() error {
	if o.DataDir == "" {
		return errNoDataDir
	}
	for name, port := range map[string]int{"port": o.Port, "etcd port": o.EtcdPort} {
		if port < 0 || port > maxPort {
			return fmt.Errorf("starting the hub: %s %d is not between 0 and %d", name, port, maxPort)
		}
	}
	return nil
}
