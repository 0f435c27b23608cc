package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/console/model"
	"github.com/berth-project/berth/internal/source/file"
)

const (
	// pageRows is how many rows a table shows at a time.
	pageRows = 100
	// maxFilter is how long a filter may be.
	maxFilter = 200
)

// fleetSummary is the data of the summary of a fleet.
type fleetSummary struct {
	Clusters, Placements int
	Health               []model.HealthCount
	Troubled             []model.Placement
	TroubledCount        int
}

// fleetControls is the data of the grid and its controls.
type fleetControls struct {
	Labels, Claims []model.KeyCount
	Placements     []fleet.Key
	Clusters       int
}

// fleetRow is a cluster in the table of the fleet.
type fleetRow struct {
	Name     string
	Health   model.Health
	Sets     []string
	Taints   int
	Selected int
	Version  string
}

// fleetTable is the table of clusters, which shows the same as the grid.
type fleetTable struct {
	Query          string
	Rows           []fleetRow
	Found          int
	Page, LastPage int
}

// maxChoices is how many placements the fleet can be coloured by.
const maxChoices = 200

// fleetPage shows every cluster.
func fleetPage(_ context.Context, v *view) (*page, error) {
	controls := fleetControls{Labels: v.state.LabelKeys(), Claims: v.state.ClaimKeys(), Clusters: len(v.state.Bundle.Clusters)}
	for _, placement := range v.state.Bundle.Placements[:min(len(v.state.Bundle.Placements), maxChoices)] {
		controls.Placements = append(controls.Placements, file.KeyOf(placement))
	}
	out := &page{Title: "Fleet", Nav: "fleet", Command: v.session.kubectl("get", "clusters"), Wide: true}
	out.Sections = append(out.Sections, section{ID: "fleet-summary", data: newFleetSummary(v.state)})
	if v.query.Get("view") == "table" {
		table, err := newFleetTable(v)
		if err != nil {
			return nil, err
		}
		out.Sections = append(out.Sections, section{ID: "fleet-table", data: table})
		return out, nil
	}
	out.Script = "fleet.js"
	out.Sections = append(out.Sections, section{ID: "fleet-grid", data: controls, fixed: true})
	return out, nil
}

func newFleetSummary(state *model.State) fleetSummary {
	const listed = 5
	out := fleetSummary{Clusters: len(state.Bundle.Clusters), Placements: len(state.Bundle.Placements), Health: state.HealthCounts()}
	for _, placement := range state.Placements() {
		if placement.Troubled() {
			out.TroubledCount++
			out.Troubled = append(out.Troubled, placement)
		}
	}
	out.Troubled = out.Troubled[:min(len(out.Troubled), listed)]
	return out
}

func newFleetTable(v *view) (*fleetTable, error) {
	filter, err := filterOf(v)
	if err != nil {
		return nil, err
	}
	var found []*clusterv1.ManagedCluster
	for _, cluster := range v.state.Bundle.Clusters {
		if matches(v.state, cluster, filter) {
			found = append(found, cluster)
		}
	}
	out := &fleetTable{Query: v.query.Get("q"), Found: len(found)}
	from, to := v.rows(len(found), &out.Page, &out.LastPage)
	for _, cluster := range found[from:to] {
		out.Rows = append(out.Rows, fleetRow{
			Name: cluster.Name, Health: model.HealthOf(cluster), Sets: v.state.SetsOf(cluster), Taints: len(cluster.Spec.Taints),
			Selected: len(v.state.SelectedBy(cluster.Name)), Version: cluster.Status.Version.Kubernetes,
		})
	}
	return out, nil
}

// filterOf returns the terms of the parameter q.
func filterOf(v *view) ([]string, error) {
	text := v.query.Get("q")
	if len(text) > maxFilter {
		return nil, badRequest("the filter has %d characters, and %d are allowed", len(text), maxFilter)
	}
	return strings.Fields(text), nil
}

// matches reports whether a cluster meets every term of a filter: set=NAME is a set, key=value is a label or a claim, tainted is for a
// taint, a state is for its health, and other text is in the name. The grid filters by the same terms.
func matches(state *model.State, cluster *clusterv1.ManagedCluster, filter []string) bool {
	for _, term := range filter {
		key, value, pair := strings.Cut(term, "=")
		switch {
		case pair && key == "set":
			if !slices.Contains(state.SetsOf(cluster), value) {
				return false
			}
		case pair:
			claimed := slices.ContainsFunc(cluster.Status.ClusterClaims,
				func(c clusterv1.ManagedClusterClaim) bool { return c.Name == key && c.Value == value })
			if cluster.Labels[key] != value && !claimed {
				return false
			}
		case term == "tainted":
			if len(cluster.Spec.Taints) == 0 {
				return false
			}
		case model.HealthOf(cluster).Term() != term && !strings.Contains(cluster.Name, term):
			return false
		}
	}
	return true
}

// serveGrid sends the cells of the fleet.
func (s *Server) serveGrid(w http.ResponseWriter, r *http.Request, session Session) error {
	state, err := session.Reader.State(r.Context())
	if err != nil {
		return err
	}
	text, err := encodeGrid(state)
	if err != nil {
		return err
	}
	writeEncoded(w, r, text)
	return nil
}

// encoded is a text as it is sent, plain and compressed.
type encoded struct {
	plain, zipped []byte
	err           error
}

// encodeGrid returns the cells of a fleet as they are sent. They are encoded once for each state.
func encodeGrid(state *model.State) (encoded, error) {
	out := model.Memo(state, "grid", func() encoded {
		plain, err := json.Marshal(state.Grid())
		if err != nil {
			return encoded{err: fmt.Errorf("encoding the cells: %w", err)}
		}
		zipped, err := compress(plain)
		return encoded{plain, zipped, err}
	})
	return out, out.err
}

// serveColumn sends one fact of every cluster.
func (s *Server) serveColumn(w http.ResponseWriter, r *http.Request, session Session) error {
	state, err := session.Reader.State(r.Context())
	if err != nil {
		return err
	}
	kind, key, _ := strings.Cut(r.URL.Query().Get("key"), ":")
	var out model.Column
	switch kind {
	case "set":
		out = state.SetColumn()
	case "label":
		out = state.LabelColumn(key)
	case "claim":
		out = state.ClaimColumn(key)
	case "placement":
		namespace, name, _ := strings.Cut(key, "/")
		found, err := session.Reader.Explain(r.Context(), fleet.Key{Namespace: namespace, Name: name}, "")
		if err != nil {
			return err
		}
		out = state.VerdictColumn(found)
	default:
		return badRequest("the parameter key is set, label:KEY, claim:NAME or placement:NAMESPACE/NAME")
	}
	return writeJSON(w, r, out)
}
