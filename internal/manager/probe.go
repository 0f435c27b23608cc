package manager

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// probes is a manager whose health checks are served here instead of by controller-runtime, whose pages have no place for
// warnings. The warnings in /readyz?verbose leave the manager ready.
type probes struct {
	manager.Manager
	live, ready map[string]healthz.Checker
}

func newProbes(mgr manager.Manager) *probes {
	return &probes{
		Manager: mgr,
		live:    map[string]healthz.Checker{"ping": healthz.Ping},
		ready:   map[string]healthz.Checker{"ping": healthz.Ping},
	}
}

// AddHealthzCheck implements manager.Manager.
func (p *probes) AddHealthzCheck(name string, check healthz.Checker) error {
	p.live[name] = check
	return nil
}

// AddReadyzCheck implements manager.Manager.
func (p *probes) AddReadyzCheck(name string, check healthz.Checker) error {
	p.ready[name] = check
	return nil
}

var errStopping = errors.New("the manager is stopping")

// serve serves /healthz and /readyz with all checks that were added before the manager starts. A manager that is stopping is not ready. It
// does nothing without an address.
func (p *probes) serve(ctx context.Context, address string, warnings func() []string) error {
	if address == "" || address == addressOff {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listening for probes: %w", err)
	}
	p.ready["running"] = running(ctx)
	server := &manager.Server{
		Name: "health probe", Listener: listener,
		Server: &http.Server{Handler: p.handler(warnings), ReadHeaderTimeout: webhookTimeout, IdleTimeout: webhookIdleTimeout},
	}
	if err := p.Add(server); err != nil {
		return fmt.Errorf("adding the probes: %w", err)
	}
	return nil
}

// running returns a check that fails once ctx has ended.
func running(ctx context.Context) healthz.Checker {
	return func(*http.Request) error {
		if ctx.Err() != nil {
			return errStopping
		}
		return nil
	}
}

func (p *probes) handler(warnings func() []string) http.Handler {
	mux := http.NewServeMux()
	for path, handler := range map[string]http.Handler{
		"/healthz": &healthz.Handler{Checks: p.live},
		"/readyz":  withWarnings(&healthz.Handler{Checks: p.ready}, warnings),
	} {
		mux.Handle(path, http.StripPrefix(path, handler))
		mux.Handle(path+"/", http.StripPrefix(path, handler))
	}
	return mux
}

// withWarnings writes warnings before the response to a verbose request.
func withWarnings(next http.Handler, warnings func() []string) http.Handler {
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if _, verbose := request.URL.Query()["verbose"]; verbose {
			response = &warningWriter{response, warnings()}
		}
		next.ServeHTTP(response, request)
	})
}

type warningWriter struct {
	http.ResponseWriter
	lines []string
}

// WriteHeader implements http.ResponseWriter. The page of all checks calls it once, the page of a single check never.
func (w *warningWriter) WriteHeader(code int) {
	w.ResponseWriter.WriteHeader(code)
	for _, line := range w.lines {
		_, _ = fmt.Fprintf(w.ResponseWriter, "[!]warning: %s\n", line) // the client may have disconnected
	}
}
