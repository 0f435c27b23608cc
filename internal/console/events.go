package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/berth-project/berth/internal/console/model"
)

const (
	// maxStreams is how many streams are open in all, and maxStreamsPerUser how many of one user.
	maxStreams, maxStreamsPerUser = 256, 16
	// patchDelay is the shortest time between two patches of a page.
	patchDelay = 500 * time.Millisecond
	// beatTime is how long a stream may be silent. A browser notices a lost connection by it.
	beatTime = 15 * time.Second
	// writeTime is how long a browser may take to read an event.
	writeTime = 10 * time.Second
)

// streams counts the open streams.
type streams struct {
	mu     sync.Mutex
	all    int
	byUser map[string]int
}

func newStreams() *streams { return &streams{byUser: map[string]int{}} }

// open counts a stream of a user. Ok is false if there are too many.
func (s *streams) open(user string) (closed func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= maxStreams || s.byUser[user] >= maxStreamsPerUser {
		return nil, false
	}
	s.all++
	s.byUser[user]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.byUser[user]--; s.byUser[user] == 0 {
			delete(s.byUser, user)
		}
	}, true
}

// serveEvents keeps an open page up to date: it sends the sections that change.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	session, err := s.options.Session(r)
	if err != nil {
		s.writeError(w, r, session, err)
		return
	}
	at, err := url.Parse(r.URL.Query().Get("page"))
	if err != nil || at.IsAbs() || at.Host != "" {
		refuse(w, http.StatusBadRequest, "The parameter page is no path of the console.")
		return
	}
	closed, ok := s.streams.open(session.User)
	if !ok {
		w.Header().Set("Retry-After", "30")
		refuse(w, http.StatusTooManyRequests, "Too many pages are open. Close some of them.")
		return
	}
	defer closed()
	w.Header().Set("Content-Type", "text/event-stream")
	out := &stream{server: s, session: session, at: at, w: w, control: http.NewResponseController(w), sent: map[string]uint64{}}
	out.seen = r.Header.Get("Last-Event-ID")
	if out.seen == "" {
		out.seen = r.URL.Query().Get("since")
	}
	_ = out.run(r.Context()) // the browser has gone
}

// stream is the events of one open page.
type stream struct {
	server  *Server
	session Session
	at      *url.URL
	w       http.ResponseWriter
	control *http.ResponseController
	// seen is the version that the browser has at the start. sent has the hash of each section as the browser has it.
	seen string
	sent map[string]uint64
	// version is that of the last event about it; empty before the first, and after a problem.
	version string
	seed    maphash.Seed
	grid    *model.Grid
	// live is set if the page is built again with each beat.
	live bool
}

// run sends patches until the browser goes.
func (s *stream) run(ctx context.Context) error {
	s.seed = maphash.MakeSeed()
	beat := s.server.options.Clock.NewTicker(beatTime)
	defer beat.Stop()
	for first := true; ; first = false {
		changed := s.session.Reader.Changed()
		if err := s.patch(ctx, first); err != nil {
			return err
		}
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return ctx.Err() //nolint:wrapcheck // it is dropped
			case <-changed:
				waiting = false
			case <-beat.C():
				if err := s.send("beat", "", nil); err != nil {
					return err
				}
				waiting = !s.live
			}
		}
		if err := s.pause(ctx); err != nil {
			return err
		}
	}
}

// pause collects the changes of a short time into one patch.
func (s *stream) pause(ctx context.Context) error {
	timer := s.server.options.Clock.NewTimer(patchDelay)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err() //nolint:wrapcheck // it is dropped
	}
}

// message is an event that is to be sent.
type message struct {
	event, id string
	data      any
}

// patch sends the sections that differ from those that the browser has. The browser has those of its version already.
func (s *stream) patch(ctx context.Context, first bool) error {
	done, err := s.server.pace.begin(ctx)
	if err != nil {
		return err
	}
	messages, err := s.render(ctx, first)
	done() // a browser that reads slowly holds up no other
	if err != nil {
		return s.sendProblem(err)
	}
	for _, each := range messages {
		if err := s.send(each.event, each.id, each.data); err != nil {
			return err
		}
	}
	return nil
}

// render returns what a browser lacks of the page.
func (s *stream) render(ctx context.Context, first bool) ([]message, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	p, state, err := s.server.build(ctx, s.session, s.at)
	if err != nil {
		return nil, err
	}
	var out []message
	s.live = p.live
	version := strconv.FormatUint(state.Version, 10)
	current := first && s.seen == version && !p.live // a live page may have changed within a version
	for _, each := range p.Sections {
		if each.fixed {
			continue
		}
		text, err := s.server.render(each)
		if err != nil {
			return nil, err
		}
		hash := maphash.String(s.seed, text)
		if known, ok := s.sent[each.ID]; !current && (!ok || known != hash) {
			out = append(out, message{"section", version, map[string]string{"id": each.ID, "html": text}})
		}
		s.sent[each.ID] = hash
	}
	out = append(out, s.cells(state, first && s.seen == version)...)
	if version != s.version { // without a change, an event would report that something changed which the caller may not see
		s.version = version
		out = append(out, message{event: "version", id: version})
	}
	return out, nil
}

// sendProblem reports why a page cannot be built now. The page stays as it is.
func (s *stream) sendProblem(err error) error {
	s.version = "" // the browser shows the problem until the next event
	if errors.Is(err, ErrNotFound) {
		return s.send("problem", "", map[string]string{"text": "What this page shows is gone, or you may no longer see it."})
	}
	return s.send("problem", "", map[string]string{"text": "The page is not current: " + err.Error()})
}

// cells returns the cells of the fleet that changed, for the page that shows them.
func (s *stream) cells(state *model.State, current bool) []message {
	if s.at.Path != "/" {
		return nil
	}
	grid := state.Grid()
	before := s.grid
	s.grid = grid
	switch {
	case current, before == grid:
		return nil
	case before == nil:
		return []message{{event: "cells", data: map[string]any{"reset": true}}}
	}
	changes, same := grid.Changes(before)
	if same && len(changes) == 0 {
		return nil
	}
	return []message{{event: "cells", data: map[string]any{"reset": !same, "changes": changes}}}
}

// send writes one event.
func (s *stream) send(event, id string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encoding an event: %w", err)
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	// A browser that does not read must not hold the stream. A server without deadlines, in a test, has none.
	_ = s.control.SetWriteDeadline(s.server.options.Clock.Now().Add(writeTime))
	if _, err := fmt.Fprintf(s.w, "event: %s\n%sdata: %s\n\n", event, id, text); err != nil {
		return fmt.Errorf("writing an event: %w", err)
	}
	if err := s.control.Flush(); err != nil {
		return fmt.Errorf("writing an event: %w", err)
	}
	return nil
}
