package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io/fs"
	"net"
	"testing/fstest"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/klog/v2"

	"github.com/berth-project/berth/config/apiserver"
	"github.com/berth-project/berth/hub/internal/cli"
	"github.com/berth-project/berth/internal/app"
)

// certificateLife outlives any run of a hub; each has a certificate of its own.
const certificateLife = 10 * 365 * 24 * time.Hour

// manager readies the manager: it takes the ports that the views and the webhooks are served on, so that the hub can be
// told of them. The hub keeps the log, and the manager listens nowhere else.
func manager(ctx context.Context) (cli.Manager, error) {
	options := app.DefaultOptions()
	options.MetricsAddress, options.HealthAddress = "0", "0"
	options.Identity = "berth-hub" // its data folder is locked against a second one
	options.Logger = klog.NewKlogr()
	manifest, err := listen(ctx, &options.Views)
	if err != nil {
		return cli.Manager{}, fmt.Errorf("readying the views: %w", err)
	}
	ready, err := admit(ctx, &options.Webhooks)
	if err != nil {
		return cli.Manager{}, fmt.Errorf("readying the webhooks: %w", err)
	}
	return cli.Manager{
		Ready: ready,
		Manifests: []fs.FS{fstest.MapFS{ // no test, but the file system in memory that there is
			"access.yaml": {Data: []byte(apiserver.Access())},
			"local.yaml":  {Data: []byte(manifest)},
		}},
		Run: func(ctx context.Context, kubeconfig string) error {
			options.Kubeconfig = kubeconfig
			return app.Run(ctx, options)
		},
	}, nil
}

// admit takes a free port for the webhooks, which the manager registers itself. It returns what closes once it has.
func admit(ctx context.Context, webhooks *app.Webhooks) (<-chan struct{}, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	ready := make(chan struct{})
	webhooks.Listener, webhooks.URL = listener, "https://"+listener.Addr().String()
	webhooks.Ready = func() { close(ready) }
	return ready, nil
}

// listen takes a free port for the views and makes a certificate. It returns the manifest that names both.
func listen(ctx context.Context, views *app.ViewOptions) (manifest string, err error) {
	certificate, key, err := cert.GenerateSelfSignedCertKeyWithOptions(cert.SelfSignedCertKeyOptions{
		Host: apiserver.ServerName, MaxAge: certificateLife,
	})
	if err != nil {
		return "", fmt.Errorf("making a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return "", fmt.Errorf("making a certificate: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listening: %w", err)
	}
	address, err := net.ResolveTCPAddr("tcp", listener.Addr().String())
	if err != nil {
		return "", fmt.Errorf("listening: %w", err)
	}
	views.Listener = listener
	views.TLS = func(config *tls.Config) { config.Certificates = []tls.Certificate{pair} }
	return apiserver.Local(address.Port, certificate), nil
}
