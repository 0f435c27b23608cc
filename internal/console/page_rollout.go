package console

import (
	"cmp"
	"context"
	"slices"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/rollout"
)

// rolloutRow is a set of works in the list.
type rolloutRow struct {
	Key fleet.Key
	*report.Report
}

// rolloutsPage lists the sets of works.
func rolloutsPage(_ context.Context, v *view) (*page, error) {
	if v.session.Deliveries == nil {
		return nil, badRequest("this console reads no rollouts")
	}
	var rows []rolloutRow
	for _, set := range v.state.Bundle.WorkSets {
		found := report.FromStatus(set)
		rows = append(rows, rolloutRow{fleet.Key{Namespace: set.Namespace, Name: set.Name}, &found})
	}
	slices.SortFunc(rows, func(a, b rolloutRow) int { return a.Key.Compare(b.Key) })
	out := &page{Title: "Rollouts", Nav: "rollouts", Command: v.session.kubectl("get", "mwrs", "-A")}
	out.Sections = []section{{ID: "rollout-list", data: rows}}
	return out, nil
}

// rolloutHead is the data of a rollout.
type rolloutHead struct {
	Key fleet.Key
	*report.Report

	CanWrite bool
}

// wave is the clusters of one group of a placement.
type wave struct {
	Placement, Group string
	Clusters         []report.Cluster
	// Done, Running, Failed and Waiting count them.
	Done, Running, Failed, Waiting int
}

// rolloutPage shows how far a set of works is.
func rolloutPage(ctx context.Context, v *view) (*page, error) {
	if v.session.Deliveries == nil {
		return nil, badRequest("this console reads no rollouts")
	}
	key := fleet.Key{Namespace: v.args[0], Name: v.args[1]}
	found, err := v.session.Deliveries.Delivery(ctx, key)
	if err != nil {
		return nil, err
	}
	out := &page{Title: key.String(), Nav: "rollouts", Command: v.session.kubectl("rollout", "status", key.Name, "-n", key.Namespace)}
	out.Sections = []section{
		{ID: "rollout-head", data: rolloutHead{key, found, v.session.Writer != nil}},
		{ID: "rollout-waves", data: wavesOf(found)},
		{ID: "rollout-clusters", data: troubledFirst(found)},
	}
	return out, nil
}

// wavesOf returns the clusters by placement and group, in the order of the groups.
func wavesOf(of *report.Report) []wave {
	var out []wave
	at := map[[2]string]int{}
	for _, cluster := range of.Clusters {
		key := [2]string{cluster.Placement, cluster.Group}
		if _, known := at[key]; !known {
			at[key] = len(out)
			out = append(out, wave{Placement: cluster.Placement, Group: cluster.Group})
		}
		out[at[key]].add(cluster)
	}
	slices.SortStableFunc(out, func(a, b wave) int {
		return cmp.Or(cmp.Compare(a.Placement, b.Placement), cmp.Compare(len(a.Group), len(b.Group)), cmp.Compare(a.Group, b.Group))
	})
	return out
}

func (w *wave) add(cluster report.Cluster) {
	w.Clusters = append(w.Clusters, cluster)
	switch stateRank(cluster) {
	case rankFailed:
		w.Failed++
	case rankRunning:
		w.Running++
	case rankDone:
		w.Done++
	default:
		w.Waiting++
	}
}

// The ranks of clusters in a rollout: those first that need a look.
const (
	rankFailed = iota
	rankRunning
	rankWaiting
	rankDone
)

func stateRank(cluster report.Cluster) int {
	switch cluster.Code {
	case rollout.Failing, rollout.TimedOut:
		return rankFailed
	case rollout.Starting, rollout.UnderWay, rollout.Soaking:
		return rankRunning
	case rollout.Done, rollout.Skipped:
		return rankDone
	default:
		return rankWaiting
	}
}

// troubledFirst returns the clusters of a rollout, those first that fail, then those under way.
func troubledFirst(of *report.Report) []report.Cluster {
	out := slices.Clone(of.Clusters)
	slices.SortStableFunc(out, func(a, b report.Cluster) int { return cmp.Compare(stateRank(a), stateRank(b)) })
	return out[:min(len(out), pageRows)]
}
