package console

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/berth-project/berth/internal/console/model"
)

// previewForm is the data of the editor of a preview.
type previewForm struct {
	Labels []model.KeyCount
	// Region is the label by which clusters fail together; empty without labels.
	Region string
}

// regionOf returns the most frequent label about a region, or without such a label the most frequent of all.
func regionOf(labels []model.KeyCount) string {
	for _, each := range labels {
		if strings.Contains(each.Key, "region") {
			return each.Key
		}
	}
	if len(labels) > 0 {
		return labels[0].Key
	}
	return ""
}

// previewPage lets a user try a change.
func previewPage(_ context.Context, v *view) (*page, error) {
	out := &page{Title: "Preview", Nav: "preview", Command: v.session.kubectl("diff"), Script: "preview.js", Wide: true}
	if v.session.Previewer == nil {
		return nil, badRequest("this console computes no previews")
	}
	out.Sections = []section{{ID: "preview", data: previewForm{v.state.LabelKeys(), regionOf(v.state.LabelKeys())}, fixed: true}}
	return out, nil
}

// previewResult is the data of the result of a preview.
type previewResult struct {
	*Preview

	Error string
	// Faults are those of the YAML text.
	Faults FaultsError
}

// changeParameters are the fields of a Change.
func changeParameters() []string { return []string{"yaml", "cordon", "drain", "remove"} }

// servePreview sends what a change would move, as a part of a page.
func (s *Server) servePreview(w http.ResponseWriter, r *http.Request, session Session) error {
	if session.Previewer == nil {
		return badRequest("this console computes no previews")
	}
	var change Change
	if err := readJSON(r, changeParameters(), &change); err != nil {
		return badRequest("the change cannot be read, or is larger than %d bytes", maxBody)
	}
	out := previewResult{}
	found, err := session.Previewer.Preview(r.Context(), change)
	faults, wrong := errors.AsType[FaultsError](err)
	switch out.Preview = found; {
	case wrong:
		out.Preview, out.Faults = nil, faults[:min(len(faults), maxFaults)]
	case err != nil:
		out.Preview, out.Error = nil, err.Error()
	}
	text, err := s.render(section{ID: "preview-result", data: out})
	if err != nil {
		return err
	}
	if out.Faults == nil {
		out.Faults = FaultsError{}
	}
	return writeJSON(w, r, map[string]any{"html": text, "faults": out.Faults})
}

// maxFaults is how many faults of a text are sent.
const maxFaults = 50

// typing is where a user types in a YAML text.
type typing struct {
	Text string `json:"text"`
	// Row is the line from 0, Column the number of characters before the cursor on it.
	Row    int `json:"row"`
	Column int `json:"column"`
}

// typingParameters are the fields of a typing.
func typingParameters() []string { return []string{"text", "row", "column"} }

// serveCompletion sends what may follow where a user types.
func (s *Server) serveCompletion(w http.ResponseWriter, r *http.Request, session Session) error {
	if session.Previewer == nil {
		return badRequest("this console computes no previews")
	}
	var at typing
	if err := readJSON(r, typingParameters(), &at); err != nil {
		return badRequest("the text cannot be read, or is larger than %d bytes", maxBody)
	}
	found, err := session.Previewer.Complete(r.Context(), at.Text, at.Row, at.Column)
	if err != nil {
		return err //nolint:wrapcheck // it is about the definitions
	}
	return writeJSON(w, r, found)
}
