package main

import (
	"context"
	"fmt"
	"io/fs"
	"net"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berth-project/berth/config/apiserver"
	"github.com/berth-project/berth/hub/internal/cli"
	"github.com/berth-project/berth/internal/app"
)

// manager readies the manager: it takes the ports that the views and the webhooks are served on, of which the manager
// tells the hub itself. The hub keeps the log, and the manager listens nowhere else.
func manager(ctx context.Context) (cli.Manager, error) {
	options := app.DefaultOptions()
	options.MetricsAddress, options.HealthAddress = "0", "0"
	options.Identity = "berth-hub" // its data folder is locked against a second one
	options.Logger = klog.NewKlogr()
	views, viewPort, err := listen(ctx)
	if err != nil {
		return cli.Manager{}, fmt.Errorf("readying the views: %w", err)
	}
	options.Views.Listener, options.Views.ServicePort = views, viewPort
	webhooks, webhookPort, err := listen(ctx)
	if err != nil {
		return cli.Manager{}, fmt.Errorf("readying the webhooks: %w", err)
	}
	options.Webhooks.Listener, options.Webhooks.URL = webhooks, fmt.Sprintf("https://127.0.0.1:%d", webhookPort)
	registered := make(chan struct{})
	options.Registered = func() { close(registered) }
	return cli.Manager{
		Manifests: []fs.FS{apiserver.Local()},
		Ready: func(ctx context.Context, admin *rest.Config) error {
			select {
			case <-registered:
				return awaitService(ctx, admin)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		},
		Run: func(ctx context.Context, kubeconfig string) error {
			options.Kubeconfig = kubeconfig
			return app.Run(ctx, options)
		},
	}, nil
}

// listen takes a free port of this machine alone.
func listen(ctx context.Context) (listener net.Listener, port int, err error) {
	listener, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, fmt.Errorf("listening: %w", err)
	}
	address, err := net.ResolveTCPAddr("tcp", listener.Addr().String())
	if err != nil {
		return nil, 0, fmt.Errorf("listening: %w", err)
	}
	return listener, address.Port, nil
}
