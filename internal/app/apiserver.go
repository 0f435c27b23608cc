package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/berth-project/berth/internal/apiserver"
)

// off is the address of what is not to listen.
const off = "0"

// ViewOptions says how the manager serves the views: the aggregated API that shows everybody the sets and clusters that
// he may see.
type ViewOptions struct {
	// Address is host:port to listen on; "0" is off. It is off by default, since it is of no use before an APIService
	// names it.
	Address string
	// CertificateDir holds tls.crt and tls.key, which may change. Empty means a certificate that nobody has signed.
	CertificateDir string
	// Listener and TLS take the place of Address and CertificateDir where the manager is part of another program.
	Listener net.Listener
	TLS      func(*tls.Config)
}

func (o *ViewOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Address, "view-bind-address", o.Address, "host:port that serves the aggregated API of the views; 0: off")
	flags.StringVar(&o.CertificateDir, "view-certificate-dir", o.CertificateDir,
		"folder with the tls.crt and tls.key that the views are served with; empty: a certificate that nobody has signed")
}

func addViews(ctx context.Context, mgr manager.Manager, options Options) error {
	views := options.Views
	if views.Listener == nil {
		if views.Address == off {
			return nil
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", views.Address)
		if err != nil {
			return fmt.Errorf("listening for the views: %w", err)
		}
		views.Listener = listener
	}
	serving := apiserver.Options{Listener: views.Listener, TLS: views.TLS, Clock: clock.RealClock{}}
	if views.CertificateDir != "" {
		serving.CertificateFile = filepath.Join(views.CertificateDir, "tls.crt")
		serving.KeyFile = filepath.Join(views.CertificateDir, "tls.key")
	}
	return apiserver.Add(ctx, mgr, serving)
}
