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
	// DataDir is the folder that holds all the hub keeps. It is created if needed,
	// survives restarts, and belongs to one hub at a time.
	DataDir string
	// Port is the API server's on 127.0.0.1. 0 means the port of the last start if
	// it is still free, and any free one otherwise.
	Port int
	// EtcdPort is etcd's on 127.0.0.1. 0 means any free one.
	EtcdPort int
	// Manifests are applied at every start, definitions of custom resources first:
	// every *.yaml and *.yml below each file system.
	Manifests []fs.FS
	// Objects are applied once the manager is ready, which may have a say in them;
	// only the definitions of custom resources among them are applied with the
	// Manifests.
	Objects []fs.FS
	// Manager runs once the control plane is ready, with a kubeconfig of its own.
	// It must return when its context ends, and stops the hub when it returns
	// earlier. Nil means a control plane alone.
	Manager func(ctx context.Context, kubeconfig string) error
	// ManagerReady returns once the manager does all that an administrator, whose
	// configuration it gets, may count on; the hub is not ready before. Nil means
	// that there is nothing to wait for.
	ManagerReady func(ctx context.Context, admin *rest.Config) error
	// ManagerIdentity is whom the manager's kubeconfig authenticates as. The zero
	// value is an administrator; naming the service account that the manager uses
	// in a cluster holds it to the same permissions here.
	ManagerIdentity Identity
	// NoFsync trades the data's safety in a power cut for speed. It is for hubs
	// whose data nobody needs tomorrow.
	NoFsync bool
	// Verbosity is the level of the log in the data folder, as in Kubernetes: 0 is
	// quiet, 2 is usual for servers, 4 is debugging.
	Verbosity int
	// Log receives a copy of the log file. It may be nil.
	Log io.Writer
}

// Identity is a user with groups, as a client certificate states them.
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
