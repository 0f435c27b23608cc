package console

import (
	"context"
	"net/http"

	"github.com/berth-project/berth/internal/console/model"
)

const (
	// maxMatches is how many objects of a kind a search shows, maxSuggested how many it suggests while one types.
	maxMatches, maxSuggested = 50, 6
)

// searchResult is the data of the results of a search.
type searchResult struct {
	Query   string
	Matches []model.Match
}

// searchPage lists what a search finds.
func searchPage(_ context.Context, v *view) (*page, error) {
	text := v.query.Get("q")
	if len(text) > maxFilter {
		return nil, badRequest("the search has %d characters, and %d are allowed", len(text), maxFilter)
	}
	out := &page{Title: "Search", Sections: []section{{ID: "search-result", data: searchResult{text, v.state.Search(text, maxMatches)}}}}
	return out, nil
}

// serveSearch sends what a search suggests.
func (s *Server) serveSearch(w http.ResponseWriter, r *http.Request, session Session) error {
	text := r.URL.Query().Get("q")
	if len(text) > maxFilter {
		return badRequest("the search is too long")
	}
	state, err := session.Reader.State(r.Context())
	if err != nil {
		return err
	}
	found := state.Search(text, maxSuggested)
	if found == nil {
		found = []model.Match{}
	}
	return writeJSON(w, r, found)
}
