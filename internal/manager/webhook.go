package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/berth-project/berth/internal/admission/binding"
	"github.com/berth-project/berth/internal/admission/clusterset"
	"github.com/berth-project/berth/internal/admission/conversion"
	"github.com/berth-project/berth/internal/admission/managedcluster"
	"github.com/berth-project/berth/internal/admission/permission"
	"github.com/berth-project/berth/internal/admission/placement"
	"github.com/berth-project/berth/internal/admission/work"
	"github.com/berth-project/berth/internal/delivery/validation"
)

const (
	// webhookTimeout bounds how long the shutdown waits for requests.
	webhookTimeout = 10 * time.Second
	// webhookIdleTimeout keeps the connections of the API server open between requests, and before the first: it opens more than it needs at
	// once. It closes them after 90 seconds, as every client of client-go does. Closing them earlier or at the same time would fail a request
	// that is sent at that moment.
	webhookIdleTimeout = 3 * time.Minute
	// answerTimeout bounds the check whether the webhooks answer. A probe of the kubelet waits a second.
	answerTimeout = 800 * time.Millisecond
)

// WebhookOptions configures the webhooks. The zero value is off; then none of their rules applies.
type WebhookOptions struct {
	// Address is the host:port to listen on; "" and "0" are off.
	Address string
	// Listener replaces Address where the manager is part of another program.
	Listener net.Listener
	// URL is the URL at which the API server reaches Address, such as https://127.0.0.1:9443; empty means the Service in
	// config/webhook.
	URL string
}

// AddFlags binds the options to flags.
func (o *WebhookOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Address, "webhook-bind-address", o.Address,
		"host:port that serves admission webhooks; 0: off, and their rules do not apply")
	flags.StringVar(&o.URL, "webhook-url", o.URL,
		"https URL under which the API server reaches the webhooks; empty: the Service in config/webhook")
}

// Validate returns every fault of the flags.
func (o *WebhookOptions) Validate() []string {
	if o.URL == "" {
		return nil
	}
	if address, err := url.Parse(o.URL); err != nil || address.Scheme != "https" || address.Host == "" {
		return []string{fmt.Sprintf("--webhook-url %q: must be an https URL", o.URL)}
	}
	return nil
}

func (o *WebhookOptions) enabled() bool {
	return o.Listener != nil || o.Address != "" && o.Address != addressOff
}

// addWebhooks adds the server of the webhooks, if they are on. It runs on every replica, whether it leads or not.
func (m *managerBuilder) addWebhooks(ctx context.Context) error {
	if !m.options.Webhooks.enabled() {
		return nil
	}
	paths, err := m.routes()
	if err != nil {
		return err
	}
	listener := m.options.Webhooks.Listener
	if listener == nil {
		if listener, err = new(net.ListenConfig).Listen(ctx, "tcp", m.options.Webhooks.Address); err != nil {
			return fmt.Errorf("listening for webhooks: %w", err)
		}
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"h2", "http/1.1"}}
	m.certificates.ConfigureTLS(config)
	drain := &drain{atMost: m.options.Webhooks.maxDrain()}
	server := &manager.Server{
		Name: "webhooks", Listener: tls.NewListener(listener, config), ShutdownTimeout: new(webhookTimeout),
		Server: &http.Server{
			// A request that is being reviewed when the manager stops is reviewed to its end.
			Handler: drain.handler(paths), BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
			ReadHeaderTimeout: webhookIdleTimeout, IdleTimeout: webhookIdleTimeout, TLSConfig: config, ConnState: drain.count,
		},
	}
	err = errors.Join(m.mgr.Add(deferredServer{server, m.certificates.Ready(), drain}),
		m.mgr.AddReadyzCheck("webhooks", answers(listener.Addr().String())))
	if err != nil {
		return fmt.Errorf("adding the webhooks: %w", err)
	}
	return nil
}

// answers returns a check that sends a request to the server at an address of this host, as the API server would. Any response is enough.
func answers(address string) healthz.Checker {
	client := &http.Client{Timeout: answerTimeout, Transport: &http.Transport{
		// each check makes a connection, as a new client would
		DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{
			MinVersion:         tls.VersionTLS13,
			InsecureSkipVerify: true, //nolint:gosec // the server is this process, and nothing is sent to it
		},
	}}
	return func(request *http.Request) error {
		probe, err := http.NewRequestWithContext(request.Context(), http.MethodGet, "https://"+address+"/", http.NoBody)
		if err != nil {
			return fmt.Errorf("probing the webhooks: %w", err)
		}
		response, err := client.Do(probe)
		if err != nil {
			return fmt.Errorf("probing the webhooks: %w", err)
		}
		return response.Body.Close() //nolint:wrapcheck // nothing was read
	}
}

// deferredServer is a server that starts once there is a certificate. Callers wait until then: the API server may have the
// webhooks of an earlier run, and would treat an error as a refusal.
type deferredServer struct {
	*manager.Server

	ready <-chan struct{}
	drain *drain
}

const (
	// minDrain is how long the server goes on at least when the manager stops: a client may not have noticed yet that it leaves.
	minDrain = 500 * time.Millisecond
	// serviceDrain is how long it goes on at most behind a Service, where the API server has other managers to send its requests to.
	serviceDrain = 3 * time.Second
	drainPoll    = 20 * time.Millisecond
)

// maxDrain returns how long the server goes on at most when the manager stops.
func (o *WebhookOptions) maxDrain() time.Duration {
	if o.Listener != nil || o.URL != "" {
		return minDrain
	}
	return serviceDrain
}

// drain closes the connections of a server whose manager stops: each after its next response, whose header announces it. The API server
// sends its requests over the same few connections, and refuses a request whose connection closes at that moment without a word.
type drain struct {
	// atMost bounds how long connections on which no request comes stay open.
	atMost   time.Duration
	stopping atomic.Bool
	open     atomic.Int64
}

// handler serves requests, and closes the connection after each of them while the manager stops.
func (d *drain) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.stopping.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// count counts the open connections.
func (d *drain) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		d.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		d.open.Add(-1)
	case http.StateActive, http.StateIdle: // it stays open
	}
}

// run returns when no connection is open, or when the time is over.
func (d *drain) run(ctx context.Context) {
	d.stopping.Store(true)
	began := clock.RealClock{}.Now()
	_ = wait.PollUntilContextTimeout(ctx, drainPoll, d.atMost, false, func(context.Context) (bool, error) {
		return d.open.Load() == 0 && clock.RealClock{}.Since(began) >= minDrain, nil
	}) // after a timeout the server closes what is open
}

// Start implements manager.Runnable.
func (s deferredServer) Start(ctx context.Context) error {
	select {
	case <-s.ready:
		serving, stop := context.WithCancel(context.WithoutCancel(ctx))
		defer stop()
		defer context.AfterFunc(ctx, func() {
			s.drain.run(serving)
			stop()
		})()
		return s.Server.Start(serving) //nolint:wrapcheck // the error of the server
	case <-ctx.Done():
		return s.Listener.Close() //nolint:wrapcheck // as above
	}
}

// routes serves and measures each webhook under its path in config/webhook.
func (m *managerBuilder) routes() (http.Handler, error) {
	mgr, env := m.mgr, m.env
	rights := permission.SubjectAccessReviewer{Client: mgr.GetClient()}
	measured := webhook.NewServer(webhook.Options{}) // its routes only; it never starts
	measured.Register(conversion.Path, conversion.Handler())
	measured.Register("/mutate-managedcluster", managedcluster.Mutating(rights, clock.RealClock{},
		m.options.registrationPolicy(mgr.GetAPIReader())))
	measured.Register("/mutate-managedclustersetbinding", binding.ValidatingName())
	measured.Register("/validate-managedcluster", managedcluster.Validating(rights, mgr.GetAPIReader(), mgr.GetClient()))
	sets := clusterset.Edits{Held: m.options.holdsSelectors(), Loss: m.record.LossBySet}
	measured.Register("/validate-managedclusterset", clusterset.Validating(mgr.GetAPIReader(), mgr.GetClient(), sets))
	measured.Register("/warn-managedclusterset", sets.Deleting())
	measured.Register("/validate-managedclustersetbinding", binding.Validating(rights))
	measured.Register("/warn-placement", placement.Deleting())
	measured.Register("/warn-managedclustersetbinding", binding.Deleting(m.record.LossByBinding))
	measured.Register("/validate-placement", placement.Validating(env, mgr.GetAPIReader(), mgr.GetClient(), m.edits()))
	works, err := validation.New(validation.Limits{ManifestBytes: m.options.Works.ManifestLimit})
	if err != nil {
		return nil, err //nolint:wrapcheck // it is described there
	}
	measured.Register(work.Path, work.Validating(works, rights, m.options.Works.NilExecutor))
	measured.Register(work.SetPath, work.ValidatingSet(works, rights, mgr.GetClient()))
	return measured.WebhookMux(), nil
}
