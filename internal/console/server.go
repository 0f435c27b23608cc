package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/berth-project/berth/engine/escape"
	"github.com/berth-project/berth/internal/console/model"
)

const (
	// maxQuery is how many bytes the query of a URL may have.
	maxQuery = 4 << 10
	// maxRunning is how many requests may compute at the same time. Others wait, at most as long as their clients.
	maxRunning = 4
	// requestTime is how long a request other than a stream may take.
	requestTime = 30 * time.Second
)

// Options configures a Server.
type Options struct {
	// Session returns what the caller of a request may read and do. The request has passed a guard.
	Session func(r *http.Request) (Session, error)
	Clock   clock.WithTicker
	// StreamShare is the share of a core that the streams of open pages may take; a half if 0.
	StreamShare float64
}

// defaultStreamShare is for a console with one user.
const defaultStreamShare = 0.5

// Server serves the pages. It authenticates no request: a guard such as Loopback does so before it. It is safe for concurrent use.
type Server struct {
	options   Options
	assets    map[string]asset
	templates *template.Template
	mux       *http.ServeMux
	running   chan struct{}
	streams   *streams
	pace      *pace
}

// New returns a server.
func New(options Options) (*Server, error) {
	assets, err := loadAssets()
	if err != nil {
		return nil, err
	}
	parsed, err := template.New("").Funcs(functions()).ParseFS(files, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("parsing the templates: %w", err)
	}
	s := &Server{
		options: options, assets: assets, templates: parsed, mux: http.NewServeMux(), running: make(chan struct{}, maxRunning),
		streams: newStreams(),
		pace:    newPace(options.Clock, cmp.Or(options.StreamShare, defaultStreamShare)),
	}
	s.handle()
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	if len(r.URL.RawQuery) > maxQuery {
		refuse(w, http.StatusRequestURITooLong, "The query of this URL is too long.")
		return
	}
	s.mux.ServeHTTP(w, r)
}

// handler serves a request of a session.
type handler func(s *Server, w http.ResponseWriter, r *http.Request, session Session) error

// bounded returns a handler of a route, whose requests are bounded.
func bounded(next handler) func(*Server) http.HandlerFunc {
	return func(s *Server) http.HandlerFunc { return s.bounded(next) }
}

// bounded limits how many requests compute at the same time, and for how long.
func (s *Server) bounded(next handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), requestTime)
		defer cancel()
		select {
		case s.running <- struct{}{}:
			defer func() { <-s.running }()
		case <-ctx.Done():
			refuse(w, http.StatusServiceUnavailable, "Too many requests are running. Try again in a moment.")
			return
		}
		session, err := s.options.Session(r)
		if err == nil {
			err = next(s, w, r.WithContext(ctx), session)
		}
		if err != nil {
			s.writeError(w, r, session, err)
		}
	}
}

// view is what a page is built from.
type view struct {
	session Session
	state   *model.State
	query   url.Values
	// now is the instant of the request.
	now time.Time
	// args are the parts of the path behind the first.
	args []string
}

// page is what a browser shows at a URL.
type page struct {
	Title string
	// Nav is the entry of the navigation that the page belongs to.
	Nav string
	// Command is the kubectl command that prints the same; empty for none.
	Command  string
	Sections []section
	// Script is a module that the page needs beside main.js; empty for none.
	Script string
	// Wide lets the page use the whole width of the window.
	Wide bool
	// live pages show what changes without a change of the fleet. An open page is built again with each beat of its stream.
	live bool
	code int
}

// section is a part of a page. Parts that change are replaced in an open page.
type section struct {
	ID   string
	data any
	// fixed parts are never replaced: a module draws in them.
	fixed bool
}

// builder builds a page.
type builder func(ctx context.Context, v *view) (*page, error)

// build builds the page of a URL.
func (s *Server) build(ctx context.Context, session Session, at *url.URL) (*page, *model.State, error) {
	route, args, ok := pageAt(at.Path)
	if !ok {
		return nil, nil, ErrNotFound
	}
	state, err := session.Reader.State(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the fleet: %w", err)
	}
	p, err := route.page(ctx, &view{
		session: session, state: state, query: only(at.Query(), route.Parameters), now: s.options.Clock.Now(),
		args: args,
	})
	if err != nil {
		return nil, state, err
	}
	return p, state, nil
}

// servePage sends a whole page.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request, session Session) error {
	p, state, err := s.build(r.Context(), session, r.URL)
	if err != nil {
		return err
	}
	return s.writePage(w, session, state, p)
}

// layout is the data of the template around every page.
type layout struct {
	*page

	Place, Note string
	Version     uint64
	// HasWorks and HasPreview are set if the session has these pages.
	HasWorks, HasPreview bool
	Parts                []part
}

// part is a rendered section.
type part struct {
	ID   string
	HTML template.HTML
}

func (s *Server) writePage(w http.ResponseWriter, session Session, state *model.State, p *page) error {
	out := layout{page: p, Place: session.Place, HasWorks: session.Deliveries != nil, HasPreview: session.Previewer != nil}
	if state != nil {
		out.Version, out.Note = state.Version, state.Note
	}
	for _, each := range p.Sections {
		text, err := s.render(each)
		if err != nil {
			return err
		}
		out.Parts = append(out.Parts, part{each.ID, template.HTML(text)}) //nolint:gosec // html/template rendered it
	}
	var body bytes.Buffer
	if err := s.templates.ExecuteTemplate(&body, "layout", out); err != nil {
		return fmt.Errorf("rendering the page: %w", err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if p.code != 0 {
		w.WriteHeader(p.code)
	}
	_, _ = io.WriteString(w, escape.Lines(body.String()))
	return nil
}

// render renders a section. Control characters, which could reverse or hide text, are spelled out.
func (s *Server) render(of section) (string, error) {
	var out bytes.Buffer
	if err := s.templates.ExecuteTemplate(&out, of.ID, of.data); err != nil {
		return "", fmt.Errorf("rendering the part %s of the page: %w", of.ID, err)
	}
	return escape.Lines(out.String()), nil
}

// problem is the data of the page that reports an error.
type problem struct{ Title, Text string }

// writeError reports an error: as a page to a browser that opens one, and as text to a module.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, session Session, err error) {
	code, title := http.StatusBadGateway, "The page cannot be shown"
	switch {
	case errors.Is(err, ErrNotFound):
		code, title = http.StatusNotFound, "Not found"
	case errors.Is(err, errBadRequest):
		code, title = http.StatusBadRequest, "The request is not valid"
	}
	if strings.HasPrefix(r.URL.Path, "/data/") {
		refuse(w, code, escape.Text(err.Error()))
		return
	}
	p := &page{Title: title, code: code, Sections: []section{{ID: "problem", data: problem{title, err.Error()}}}}
	if err := s.writePage(w, session, nil, p); err != nil {
		refuse(w, http.StatusInternalServerError, "The page cannot be rendered.")
	}
}

// errBadRequest is wrapped by the errors about what a caller sent.
var errBadRequest = errors.New("the request is not valid")

func badRequest(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errBadRequest, fmt.Sprintf(format, args...))
}

// writeJSON sends a value to a module.
func writeJSON(w http.ResponseWriter, r *http.Request, value any) error {
	out, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding the response: %w", err)
	}
	text := encoded{plain: out}
	if acceptsGzip(r) {
		if text.zipped, err = compress(out); err != nil {
			return err
		}
	}
	writeEncoded(w, r, text)
	return nil
}

// writeEncoded sends JSON to a module, compressed if its browser takes that.
func writeEncoded(w http.ResponseWriter, r *http.Request, text encoded) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Vary", "Accept-Encoding")
	body := text.plain
	if acceptsGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		body = text.zipped
	}
	_, _ = w.Write(body)
}
