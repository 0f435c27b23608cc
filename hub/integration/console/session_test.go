//go:build slow

package console

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/cli/web"
	"github.com/berth-project/berth/internal/console"
	"github.com/berth-project/berth/internal/source/file"
)

// shiftedClock is a clock that a test may set back.
type shiftedClock struct{ offset atomic.Int64 }

// Now implements clock.PassiveClock.
func (c *shiftedClock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// Since implements clock.PassiveClock.
func (c *shiftedClock) Since(at time.Time) time.Duration { return c.Now().Sub(at) }

// server is a console of files whose connections a test can cut.
type server struct {
	t       *testing.T
	handler http.Handler
	address string
	running *http.Server
	clock   *shiftedClock
	url     string
}

func newServer(t *testing.T) *server {
	t.Helper()
	bundle, err := file.Loader{}.Load(t.Context(), []string{filepath.Join(root, "examples", "demo")})
	if err != nil {
		t.Fatal(err)
	}
	read := web.NewFiles(bundle, time.Now())
	session := console.Session{Reader: read, Previewer: read, Place: "files"}
	handler, err := console.New(console.Options{
		Session: func(*http.Request) (console.Session, error) { return session, nil },
		Clock:   clock.RealClock{},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, clock: &shiftedClock{}}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = listener.Addr().String()
	guard := console.NewLoopback(handler, s.address, s.clock)
	s.handler, s.url = guard, guard.URL()
	s.start(listener)
	t.Cleanup(s.stop)
	return s
}

func (s *server) start(listener net.Listener) {
	ctx, cancel := context.WithCancel(s.t.Context())
	s.running = &http.Server{Handler: s.handler, ReadHeaderTimeout: limit, BaseContext: func(net.Listener) context.Context { return ctx }}
	s.running.RegisterOnShutdown(cancel)
	go s.running.Serve(listener)
	s.t.Cleanup(cancel)
}

func (s *server) stop() { s.running.Close() }

// restart listens at the same address again.
func (s *server) restart() {
	s.t.Helper()
	listener := kit.Must(new(net.ListenConfig).Listen(s.t.Context(), "tcp", s.address)).In(s.t)
	s.start(listener)
}

// TestTheConnectionComesBack cuts the connections of an open page, which connects again by itself.
func TestTheConnectionComesBack(t *testing.T) {
	s := newServer(t)
	b := open(t, s.url)
	b.visit("/placements")
	b.waitText("Live")
	s.stop()
	b.waitText("The connection is lost")
	b.waitText("Not live")
	s.restart()
	b.wait("the connection", `document.querySelector("#live").textContent === "Live" && document.querySelector("#connection").hidden`)
	b.checkProblems(t)
}

// TestTheSessionEnds lets the session of a browser end while a page is open. The page shows it, and other pages are refused.
func TestTheSessionEnds(t *testing.T) {
	const left = 15 * time.Second
	s := newServer(t)
	s.clock.offset.Store(int64(left - 12*time.Hour)) // the session of the next login ends after a moment
	b := open(t, s.url)
	s.clock.offset.Store(0)
	b.visit("/placements")
	b.waitText("Live")
	b.waitText("The session has ended")
	if evaluate[string](b, `document.querySelector("#live").textContent`) != "Not live" {
		t.Error("the page is shown as live")
	}
	b.do(chromedp.Navigate(b.address + "/placements"))
	b.waitText("Run kubectl berth console again")
	b.checkProblems(t)
}
