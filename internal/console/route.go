package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Route is an address that a Server serves.
type Route struct {
	Method string
	// Path is the path. A part in braces is a parameter.
	Path string
	// Parameters are those that the address takes: of the query, and with POST of the form or the fields of the JSON. A handler reads no
	// other, so this list is complete.
	Parameters []string

	// page builds the page of the address; nil for an address that is no page. Then serve returns its handler.
	page  builder
	serve func(*Server) http.HandlerFunc
}

// Routes returns every address that a Server serves. There is no other: a test that covers all of them covers the server.
func Routes() []Route {
	const get, post = http.MethodGet, http.MethodPost
	return []Route{
		{Method: get, Path: "/", Parameters: []string{"view", "q", "page"}, page: fleetPage},
		{Method: get, Path: "/clusters/{cluster}", page: clusterPage},
		{Method: get, Path: "/placements", Parameters: []string{"q", "page"}, page: placementsPage},
		{Method: get, Path: "/placements/{namespace}/{placement}", Parameters: []string{"stage", "cluster", "page"}, page: placementPage},
		{Method: get, Path: "/search", Parameters: []string{"q"}, page: searchPage},
		{Method: get, Path: "/confirm", Parameters: writeParameters(), page: confirmPage},
		{Method: get, Path: "/preview", page: previewPage},
		{Method: get, Path: "/rollouts", page: rolloutsPage},
		{Method: get, Path: "/rollouts/{namespace}/{set}", Parameters: []string{"step", "at"}, page: rolloutPage},
		{Method: get, Path: "/hub", page: hubPage},
		{Method: get, Path: "/assets/{name}", serve: func(s *Server) http.HandlerFunc { return s.serveAsset }},
		{Method: get, Path: "/events", Parameters: []string{"page", "since"}, serve: func(s *Server) http.HandlerFunc { return s.serveEvents }},
		{Method: get, Path: "/data/grid", serve: bounded((*Server).serveGrid)},
		{Method: get, Path: "/data/column", Parameters: []string{"key"}, serve: bounded((*Server).serveColumn)},
		{Method: get, Path: "/data/search", Parameters: []string{"q"}, serve: bounded((*Server).serveSearch)},
		{Method: get, Path: "/data/moment", Parameters: []string{"set", "step", "at"}, serve: bounded((*Server).serveMoment)},
		{Method: post, Path: "/data/preview", Parameters: changeParameters(), serve: bounded((*Server).servePreview)},
		{Method: post, Path: "/data/completion", Parameters: typingParameters(), serve: bounded((*Server).serveCompletion)},
		{Method: post, Path: "/confirm", Parameters: writeParameters(), serve: bounded((*Server).serveWrite)},
	}
}

// handle adds the handlers of all routes.
func (s *Server) handle() {
	for _, route := range Routes() {
		if route.page == nil {
			s.mux.HandleFunc(route.Method+" "+route.Path, route.limit(route.serve(s)))
		}
	}
	s.mux.HandleFunc("GET /", s.bounded((*Server).servePage)) // every other path: a page, or not found
}

// limit leaves out of the query what a route does not take.
func (r Route) limit(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		at := *request.URL
		at.RawQuery = only(at.Query(), r.Parameters).Encode()
		reduced := request.WithContext(request.Context()) // a copy
		reduced.URL = &at
		next(w, reduced)
	}
}

// pageAt returns the route of the page at a path, and the values of the parameters in the path.
func pageAt(path string) (found Route, args []string, ok bool) {
	given := strings.Split(strings.Trim(path, "/"), "/")
	for _, route := range Routes() {
		if route.page == nil {
			continue
		}
		if args, ok := match(strings.Split(strings.Trim(route.Path, "/"), "/"), given); ok {
			return route, args, true
		}
	}
	return Route{}, nil, false
}

// match returns the parts of a path that stand for parameters.
func match(pattern, given []string) (args []string, ok bool) {
	if len(pattern) != len(given) {
		return nil, false
	}
	for i, part := range pattern {
		switch {
		case strings.HasPrefix(part, "{"):
			args = append(args, given[i])
		case part != given[i]:
			return nil, false
		}
	}
	return args, true
}

// only returns the parameters with these names.
func only(of url.Values, names []string) url.Values {
	out := url.Values{}
	for _, name := range names {
		if values, ok := of[name]; ok {
			out[name] = values
		}
	}
	return out
}

// readJSON reads the fields of a body that a route takes.
func readJSON(r *http.Request, names []string, into any) error {
	var sent map[string]json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		return fmt.Errorf("decoding the body: %w", err)
	}
	maps.DeleteFunc(sent, func(name string, _ json.RawMessage) bool { return !slices.Contains(names, name) })
	text, err := json.Marshal(sent)
	if err != nil {
		return fmt.Errorf("encoding the body: %w", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("decoding the body: %w", err)
	}
	return nil
}
