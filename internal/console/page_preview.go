package console

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/berth-project/berth/internal/console/model"
)

// previewForm is the data of the editor of a preview.
type previewForm struct {
	Labels []model.KeyCount
}

// previewPage lets a user try a change.
func previewPage(_ context.Context, v *view) (*page, error) {
	out := &page{Title: "Preview", Nav: "preview", Command: v.session.kubectl("diff"), Script: "preview.js", Wide: true}
	if v.session.Previewer == nil {
		return nil, badRequest("this console computes no previews")
	}
	out.Sections = []section{{ID: "preview", data: previewForm{v.state.LabelKeys()}, fixed: true}}
	return out, nil
}

// previewResult is the data of the result of a preview.
type previewResult struct {
	*Preview

	Error string
}

// servePreview sends what a change would move, as a part of a page.
func (s *Server) servePreview(w http.ResponseWriter, r *http.Request, session Session) error {
	if session.Previewer == nil {
		return badRequest("this console computes no previews")
	}
	var change Change
	if err := json.NewDecoder(r.Body).Decode(&change); err != nil {
		return badRequest("the change cannot be read, or is larger than %d bytes", maxBody)
	}
	out := previewResult{}
	found, err := session.Previewer.Preview(r.Context(), change)
	if out.Preview = found; err != nil {
		out.Error = err.Error()
	}
	text, err := s.render(section{ID: "preview-result", data: out})
	if err != nil {
		return err
	}
	return writeJSON(w, r, map[string]string{"html": text})
}
