package embed

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/server/healthz"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// APIServerOptions configures the API server. All certificates are files.
type APIServerOptions struct {
	// Listener is where it serves; the API server closes it.
	Listener net.Listener
	// Etcd is the endpoint, EtcdCA to EtcdKey the trust and identity to use there.
	Etcd, EtcdCA, EtcdCert, EtcdKey string
	// Cert and Key serve; ClientCA has the authorities that sign users and agents.
	Cert, Key, ClientCA string
	// SigningKey signs and verifies service account tokens. FormerKey verifies them too, unless it is empty.
	SigningKey, FormerKey string
	// ProxyCA, ProxyCert and ProxyKey identify the API server to aggregated APIs.
	// ProxyUser is the name in ProxyCert.
	ProxyCA, ProxyCert, ProxyKey, ProxyUser string
	// Authentication is the file with the rules for anonymous requests.
	Authentication string
	// Encryption is the file with the configuration of the encryption at rest.
	Encryption string
	// Ready are further checks of /readyz by name.
	Ready map[string]func() error
}

// ciphers returns the names of the cipher suites of TLS 1.2 with authenticated encryption (AEAD) and forward secrecy. TLS 1.3 has
// only such suites.
func ciphers() []string {
	return []string{
		"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
		"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
		"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
	}
}

// Flags are the API server's settings for a hub: no nodes, no service network, one trusted machine.
func (o APIServerOptions) Flags() []string {
	var former []string
	if o.FormerKey != "" {
		former = []string{"--service-account-key-file=" + o.FormerKey}
	}
	return append(former,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--etcd-servers="+o.Etcd,
		"--etcd-cafile="+o.EtcdCA,
		"--etcd-certfile="+o.EtcdCert,
		"--etcd-keyfile="+o.EtcdKey,
		"--tls-cert-file="+o.Cert,
		"--tls-private-key-file="+o.Key,
		"--tls-min-version=VersionTLS12",
		"--tls-cipher-suites="+strings.Join(ciphers(), ","),
		"--client-ca-file="+o.ClientCA,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file="+o.SigningKey,
		"--service-account-key-file="+o.SigningKey,
		"--authentication-config="+o.Authentication,
		"--authorization-mode=RBAC",
		"--encryption-provider-config="+o.Encryption,
		// Some hubs require permissions on the owner that a client names. A client that works here works on these hubs too.
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
		"--requestheader-client-ca-file="+o.ProxyCA,
		"--requestheader-allowed-names="+o.ProxyUser,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file="+o.ProxyCert,
		"--proxy-client-key-file="+o.ProxyKey,
		"--service-cluster-ip-range=10.0.0.0/24",
		// End open watches at once and give connections two seconds, not a minute.
		"--shutdown-watch-termination-grace-period=1s",
		"--shutdown-send-retry-after=true",
	)
}

// RunAPIServer serves until ctx ends or it fails. The logs must have been
// routed and etcd must serve.
func RunAPIServer(ctx context.Context, opts APIServerOptions) error {
	server := options.NewServerRunOptions()
	if err := parse(server.Flags(), opts.Flags()); err != nil {
		return fmt.Errorf("configuring the API server: %w", err)
	}
	server.SecureServing.Listener = opts.Listener
	if err := server.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return fmt.Errorf("setting feature gates: %w", err)
	}
	completed, err := server.Complete(ctx)
	if err != nil {
		return fmt.Errorf("completing the API server's options: %w", err)
	}
	if errs := completed.Validate(); len(errs) != 0 {
		return fmt.Errorf("validating the API server's options: %w", utilerrors.NewAggregate(errs))
	}
	return opts.serve(ctx, completed)
}

// serve is app.Run of kube-apiserver with further checks.
func (o APIServerOptions) serve(ctx context.Context, completed options.CompletedOptions) error {
	config, err := app.NewConfig(completed)
	if err != nil {
		return fmt.Errorf("configuring the API server: %w", err)
	}
	complete, err := config.Complete()
	if err != nil {
		return fmt.Errorf("completing the API server's configuration: %w", err)
	}
	server, err := app.CreateServerChain(complete)
	if err != nil {
		return fmt.Errorf("creating the API server: %w", err)
	}
	for name, check := range o.Ready {
		if err := server.GenericAPIServer.AddReadyzChecks(healthz.NamedCheck(name, func(*http.Request) error { return check() })); err != nil {
			return fmt.Errorf("adding the check %s: %w", name, err)
		}
	}
	prepared, err := server.PrepareRun()
	if err != nil {
		return fmt.Errorf("preparing the API server: %w", err)
	}
	return prepared.Run(ctx)
}

// parse applies args to a component's named flag sets. Flags rather than struct
// fields, because flags are the interface that Kubernetes documents and keeps.
func parse(named cliflag.NamedFlagSets, args []string) error {
	flags := pflag.NewFlagSet("component", pflag.ContinueOnError)
	for _, set := range named.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("parsing flags: %w", err)
	}
	return nil
}
