package manager

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// TestARequestOutlivesTheManager: a request that is being reviewed when the manager stops is reviewed to its end, and the connection
// closes after it, so that no client sends another request to a server that is gone.
func TestARequestOutlivesTheManager(t *testing.T) {
	reviewing, finish := make(chan struct{}), make(chan struct{})
	ending, ready := &drain{atMost: minDrain}, make(chan struct{})
	close(ready)
	review := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			close(reviewing)
			<-finish
		}
		if r.Context().Err() != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	server := deferredServer{&manager.Server{
		Name: "test", Listener: listener, ShutdownTimeout: new(time.Minute),
		Server: &http.Server{
			Handler: ending.handler(review), ReadHeaderTimeout: time.Minute, ConnState: ending.count,
			BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		},
	}, ready, ending}
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	get := func(path string) (*http.Response, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+path, http.NoBody)
		if err != nil {
			return nil, err
		}
		return http.DefaultClient.Do(request)
	}
	before, err := get("/before")
	if err != nil || before.Close {
		t.Fatalf("before the manager stops: %v, closes %t", err, before != nil && before.Close)
	}
	_ = before.Body.Close()
	first := make(chan int, 1)
	go func() {
		response, err := get("/first")
		if err != nil {
			first <- 0
			return
		}
		defer func() { _ = response.Body.Close() }()
		first <- response.StatusCode
	}()
	<-reviewing
	began := time.Now()
	stop()
	for !ending.stopping.Load() { // it is set by another goroutine
		runtime.Gosched()
	}
	during, err := get("/during")
	switch {
	case err == nil:
		if !during.Close {
			t.Error("while the manager stops, a response keeps its connection")
		}
		_ = during.Body.Close()
	case time.Since(began) < minDrain: // later the server accepts no connection
		t.Errorf("while the manager stops: %v", err)
	}
	close(finish)
	if code := <-first; code != http.StatusOK {
		t.Errorf("a request that the manager had begun to review has the code %d", code)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestADrainWaitsForOpenConnections: a connection on which no request comes keeps a manager behind a Service for a bounded time, and is
// closed by the response to a request before that.
func TestADrainWaitsForOpenConnections(t *testing.T) {
	for name, used := range map[string]bool{"a connection that is used": true, "an idle connection": false} {
		t.Run(name, func(t *testing.T) {
			ending := &drain{atMost: 2 * minDrain}
			server := httptest.NewUnstartedServer(ending.handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
			server.Config.ConnState = ending.count
			server.Start()
			defer server.Close()
			get := func() {
				response, err := server.Client().Get(server.URL)
				if err != nil {
					t.Error(err)
					return
				}
				_ = response.Body.Close()
			}
			get()
			if ending.open.Load() != 1 {
				t.Fatalf("%d connections are open after one request", ending.open.Load())
			}
			ended := make(chan struct{})
			go func() {
				ending.run(t.Context())
				close(ended)
			}()
			for !ending.stopping.Load() { // it is set by another goroutine
				runtime.Gosched()
			}
			if used {
				get()
			}
			<-ended
			if left := ending.open.Load() > 0; left == used {
				t.Errorf("the drain ended with an open connection: %t", left)
			}
		})
	}
}

func TestOnlyAManagerBehindAServiceDrainsLong(t *testing.T) {
	for name, c := range map[string]struct {
		of   WebhookOptions
		want time.Duration
	}{
		"a Service": {want: serviceDrain}, "a URL": {of: WebhookOptions{URL: "https://127.0.0.1"}, want: minDrain},
		"a part of a hub": {of: WebhookOptions{Listener: &net.TCPListener{}}, want: minDrain},
	} {
		if got := c.of.maxDrain(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestTheAPIServerClosesIdleConnections compares the servers' patience with that of clients such as the API server.
func TestTheAPIServerClosesIdleConnections(t *testing.T) {
	if client := utilnet.SetTransportDefaults(&http.Transport{}).IdleConnTimeout; client == 0 || webhookIdleTimeout <= client {
		t.Errorf("the webhooks close idle connections after %s and their clients after %s: a request that is sent at that moment fails",
			webhookIdleTimeout, client)
	}
}
