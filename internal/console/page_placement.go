package console

import (
	"context"
	"strings"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/console/model"
)

// placementList is the data of the list of placements.
type placementList struct {
	Query          string
	Rows           []model.Placement
	Found, All     int
	Page, LastPage int
}

// placementsPage lists the placements.
func placementsPage(_ context.Context, v *view) (*page, error) {
	filter, err := filterOf(v)
	if err != nil {
		return nil, err
	}
	list := placementList{Query: v.query.Get("q")}
	var found []model.Placement
	for _, row := range v.state.Placements() {
		list.All++
		if containsAll(row.Key.String(), filter) {
			found = append(found, row)
		}
	}
	list.Found = len(found)
	from, to := v.rows(len(found), &list.Page, &list.LastPage)
	list.Rows = found[from:to]
	out := &page{Title: "Placements", Nav: "placements", Command: v.session.kubectl("get", "placements", "-A")}
	if strings.Contains(v.session.Flags, "-f ") { // files are read whole
		out.Command = v.session.kubectl("get", "placements")
	}
	out.Sections = []section{{ID: "placement-list", data: list}}
	return out, nil
}

func containsAll(text string, terms []string) bool {
	for _, term := range terms {
		if !strings.Contains(text, term) {
			return false
		}
	}
	return true
}

// placementHead is the data of the head of a placement.
type placementHead struct {
	Row model.Placement
	// Explanation is nil if the last run is not known.
	Explanation *explain.Explanation
	Problems    []string
	Path        string
}

// funnel is the data of the steps of a decision.
type funnel struct {
	Path   string
	All    int
	Stages []model.Stage
	Chosen int
	Hidden int
	// Open is the stage whose clusters are listed; empty for none.
	Open     string
	Rejected []*explain.Cluster
	More     int
}

// verdictTable is the data of the verdicts.
type verdictTable struct {
	Path string
	Rows []verdictRow
}

// verdictRow is the clusters with one verdict and one reason.
type verdictRow struct {
	Verdict, Why string
	Clusters     []string
}

// scoreTable is the data of the scores.
type scoreTable struct {
	Path           string
	Prioritizers   []explain.Prioritizer
	Rows           []*explain.Cluster
	Found          int
	Page, LastPage int
	Cut            *explain.Ranked
}

// fixForm is the data of the form that shows what would select a cluster.
type fixForm struct {
	Path, Cluster string
	Found         *explain.Cluster
	Error         string
	Candidates    []string
}

// historyList is the data of the changes.
type historyList struct {
	*explain.History

	Error string
}

// placementPage shows one placement: how it was decided, and what would change that.
func placementPage(ctx context.Context, v *view) (*page, error) {
	key := fleet.Key{Namespace: v.args[0], Name: v.args[1]}
	placement, ok := v.state.Placement(key)
	if !ok {
		return nil, ErrNotFound
	}
	out := &page{Title: key.String(), Nav: "placements", Command: v.session.kubectl("explain", "placement", key.Name, "-n", key.Namespace)}
	row, path := v.state.NewPlacement(placement), placementPath(key)
	found, err := v.session.Reader.Explain(ctx, key, "")
	if err != nil {
		out.Sections = []section{
			{ID: "placement-head", data: placementHead{Row: row, Path: path, Problems: []string{err.Error()}}},
			{ID: "placement-groups", data: v.state.GroupsOf(key)},
		}
		return out, nil //nolint:nilerr // the page shows the error
	}
	steps, err := newFunnel(v, found, path)
	if err != nil {
		return nil, err
	}
	out.Sections = []section{
		{ID: "placement-head", data: placementHead{Row: row, Explanation: found, Path: path, Problems: found.Problems()}},
		{ID: "placement-funnel", data: steps},
		{ID: "placement-fix", data: newFixForm(ctx, v, key, found)},
		{ID: "placement-verdicts", data: newVerdictTable(found, path)},
		{ID: "placement-groups", data: v.state.GroupsOf(key)},
		{ID: "placement-scores", data: newScoreTable(v, found, path)},
		{ID: "placement-history", data: newHistoryList(ctx, v, key)},
	}
	return out, nil
}

func newFunnel(v *view, found *explain.Explanation, path string) (*funnel, error) {
	out := &funnel{
		Path: path, All: len(found.Clusters), Stages: model.Funnel(found), Chosen: len(found.Chosen()), Hidden: found.Hidden,
		Open: v.query.Get("stage"),
	}
	if out.Open == "" {
		return out, nil
	}
	rejected, ok := model.RejectedBy(found, out.Open)
	if !ok {
		return nil, badRequest("there is no stage %q", out.Open)
	}
	out.Rejected = rejected[:min(len(rejected), pageRows)]
	out.More = len(rejected) - len(out.Rejected)
	return out, nil
}

func newVerdictTable(found *explain.Explanation, path string) verdictTable {
	out := verdictTable{Path: path}
	for _, row := range found.Rows() {
		next := verdictRow{Verdict: row.Verdict, Why: row.Why}
		for _, cluster := range row.Clusters {
			next.Clusters = append(next.Clusters, cluster.Name)
		}
		if shortfall := row.Clusters[0].Shortfall(); next.Why == "" && shortfall != "" {
			if next.Why = shortfall; len(row.Clusters) > 1 {
				next.Why = row.Clusters[0].Name + " is " + shortfall + "; the scores have the others"
			}
		}
		out.Rows = append(out.Rows, next)
	}
	return out
}

func newScoreTable(v *view, found *explain.Explanation, path string) scoreTable {
	ranked := model.Ranked(found)
	out := scoreTable{Path: path, Prioritizers: found.Prioritizers, Found: len(ranked), Cut: found.Cut}
	from, to := v.rows(len(ranked), &out.Page, &out.LastPage)
	out.Rows = ranked[from:to]
	return out
}

// maxCandidates is how many clusters the form proposes.
const maxCandidates = 500

// newFixForm returns the form, and the answer for the cluster that its user picked.
func newFixForm(ctx context.Context, v *view, key fleet.Key, found *explain.Explanation) fixForm {
	out := fixForm{Path: placementPath(key), Cluster: v.query.Get("cluster")}
	for i := range found.Clusters {
		if len(out.Candidates) < maxCandidates && !found.Clusters[i].Selected {
			out.Candidates = append(out.Candidates, found.Clusters[i].Name)
		}
	}
	if out.Cluster == "" {
		return out
	}
	if _, known := found.Find(out.Cluster); !known {
		out.Error = "There is no such cluster that you may see."
		return out
	}
	one, err := v.session.Reader.Explain(ctx, key, out.Cluster)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	if at, ok := one.Find(out.Cluster); ok {
		out.Found = at
	}
	return out
}

func newHistoryList(ctx context.Context, v *view, key fleet.Key) historyList {
	found, err := v.session.Reader.History(ctx, key)
	if err != nil {
		return historyList{Error: err.Error()}
	}
	const listed = 50
	shown := *found
	shown.Changes = found.Changes[:min(len(found.Changes), listed)]
	return historyList{History: &shown}
}
