package hub

import (
	"context"

	"github.com/berth-project/berth/hub/embed"
)

// Components start and run the parts of Kubernetes. A method whose name begins with Run returns when its context ends, or earlier
// with the failure of the part.
type Components interface {
	// Versions returns the versions of the parts.
	Versions() embed.Versions
	// StartEtcd returns once etcd serves.
	StartEtcd(ctx context.Context, opts embed.EtcdOptions, logs embed.Logs) (Etcd, error)
	// RunAPIServer runs the API server. etcd serves already.
	RunAPIServer(ctx context.Context, opts embed.APIServerOptions) error
	// RunControllers runs the controllers. The API server serves already.
	RunControllers(ctx context.Context, opts embed.ControllerOptions) error
	// RunScheduler runs the scheduler with the identity in a kubeconfig.
	RunScheduler(ctx context.Context, kubeconfig string) error
}

// Etcd is a running etcd server.
type Etcd interface {
	database

	// Endpoint returns the URL for clients.
	Endpoint() string
	// Run returns when etcd fails, or when ctx ends and etcd has closed.
	Run(ctx context.Context) error
}

// Linked are the components that this process links.
type Linked struct{}

// Versions implements Components.
func (Linked) Versions() embed.Versions { return embed.LinkedVersions() }

// StartEtcd implements Components.
func (Linked) StartEtcd(ctx context.Context, opts embed.EtcdOptions, logs embed.Logs) (Etcd, error) {
	etcd, err := embed.StartEtcd(ctx, opts, logs)
	if err != nil {
		return nil, err // not a nil pointer as an interface
	}
	return etcd, nil
}

// RunAPIServer implements Components.
func (Linked) RunAPIServer(ctx context.Context, opts embed.APIServerOptions) error {
	return embed.RunAPIServer(ctx, opts)
}

// RunControllers implements Components.
func (Linked) RunControllers(ctx context.Context, opts embed.ControllerOptions) error {
	return embed.RunControllers(ctx, opts)
}

// RunScheduler implements Components.
func (Linked) RunScheduler(ctx context.Context, kubeconfig string) error {
	return embed.RunScheduler(ctx, kubeconfig)
}
