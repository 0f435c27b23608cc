package console

import (
	"context"

	"github.com/berth-project/berth/internal/console/model"
)

// hubFacts is the data of the page of the hub.
type hubFacts struct {
	Place, Note                         string
	Clusters, Placements, Sets, WorkSet int
	Health                              []model.HealthCount
	State                               *model.State
}

// hubPage shows what is read, and how it is.
func hubPage(_ context.Context, v *view) (*page, error) {
	bundle := v.state.Bundle
	out := &page{Title: "Hub", Nav: "hub", Command: v.session.kubectl("version")}
	out.Sections = []section{{ID: "hub-facts", data: hubFacts{
		Place: v.session.Place, Note: v.state.Note, Clusters: len(bundle.Clusters), Placements: len(bundle.Placements), Sets: len(bundle.Sets),
		WorkSet: len(bundle.WorkSets), Health: v.state.HealthCounts(), State: v.state,
	}}}
	return out, nil
}
