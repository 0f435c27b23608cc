package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	addressOff        = "0"
	readHeaderTimeout = 5 * time.Second
	maxHeaderBytes    = 8 << 10
)

// healthPage holds what each part of the agent waits for. It is safe for concurrent use.
type healthPage struct {
	mu    sync.Mutex
	parts map[string]error
	// notes need attention, and do not make the agent unready.
	notes map[string]string
}

func newHealthPage() *healthPage {
	return &healthPage{parts: map[string]error{}, notes: map[string]string{}}
}

// reporter returns a function that reports one part. A nil error means that the part works.
func (h *healthPage) reporter(part string) func(error) {
	return func(err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if err == nil {
			delete(h.parts, part)
		} else {
			h.parts[part] = err
		}
	}
}

// note reports what needs attention in a part that works. An empty text is nothing.
func (h *healthPage) note(part, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if text == "" {
		delete(h.notes, part)
	} else {
		h.notes[part] = text
	}
}

// ready writes 200 and what needs attention, or 503 and what each part waits for.
func (h *healthPage) ready(w http.ResponseWriter, _ *http.Request) {
	h.mu.Lock()
	parts, notes := maps.Clone(h.parts), maps.Clone(h.notes)
	h.mu.Unlock()
	if len(parts) == 0 {
		fmt.Fprintln(w, "ok")
		for _, part := range slices.Sorted(maps.Keys(notes)) {
			fmt.Fprintf(w, "%s: %q\n", part, notes[part])
		}
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		fmt.Fprintf(w, "%s: %q\n", part, parts[part])
	}
}

// serveHealth serves /healthz, which is 200 while the process runs, /readyz, which is 200 while the cluster is reported, and /metrics.
func serveHealth(ctx context.Context, address string, page *healthPage, metrics http.Handler, log *slog.Logger) error {
	if address == addressOff || address == "" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listening for health probes: %w", err)
	}
	pages := http.NewServeMux()
	alive := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }
	pages.HandleFunc("GET /healthz", alive)
	pages.HandleFunc("GET /livez", alive)
	pages.HandleFunc("GET /readyz", page.ready)
	pages.Handle("GET /metrics", metrics)
	server := &http.Server{
		Handler: pages, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readHeaderTimeout,
		MaxHeaderBytes: maxHeaderBytes,
	}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("serving health probes", "error", err)
		}
	}()
	context.AfterFunc(ctx, func() { _ = server.Close() }) // the process ends
	log.Info("serving health probes", "address", listener.Addr().String())
	return nil
}
