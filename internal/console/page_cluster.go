package console

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/console/model"
	"github.com/berth-project/berth/internal/source/file"
)

// maxExplained is how many placements a page explains for a cluster. Each costs the manager a request.
const maxExplained = 24

// clusterFacts is the data of the facts about a cluster.
type clusterFacts struct {
	Name           string
	Health         model.Health
	Since          metav1.Time
	Message        string
	Sets           []string
	Version        string
	Created        metav1.Time
	Accepted       bool
	CanWrite       bool
	Lease          time.Duration
	Taints         []clusterv1.Taint
	Labels, Claims []pair
	Resources      []amount
	Conditions     []metav1.Condition
	Scores         []*clusterv1alpha1.AddOnPlacementScore
}

// pair is a key with its value.
type pair struct{ Key, Value string }

// amount is a resource with what the cluster has and what it can allocate.
type amount struct{ Name, Capacity, Allocatable string }

// clusterReasons is the data of the placements of a cluster.
type clusterReasons struct {
	Cluster string
	Rows    []reasonRow
	// More is the number of placements that are not listed.
	More int
}

// reasonRow is what a placement decided about a cluster.
type reasonRow struct {
	Key          fleet.Key
	Verdict, Why string
	// Unknown is why the verdict is not known; empty if it is.
	Unknown string
}

// clusterPage shows one cluster.
func clusterPage(ctx context.Context, v *view) (*page, error) {
	cluster, ok := v.state.Cluster(v.args[0])
	if !ok {
		return nil, ErrNotFound
	}
	out := &page{Title: cluster.Name, Nav: "fleet", Command: v.session.kubectl("describe", "cluster", cluster.Name)}
	facts := newClusterFacts(v.state, cluster)
	facts.CanWrite = v.session.Writer != nil
	out.Sections = []section{
		{ID: "cluster-facts", data: facts},
		{ID: "cluster-reasons", data: newClusterReasons(ctx, v, cluster.Name)},
		{ID: "cluster-details", data: facts},
	}
	return out, nil
}

func newClusterFacts(state *model.State, cluster *clusterv1.ManagedCluster) clusterFacts {
	out := clusterFacts{
		Name: cluster.Name, Health: model.HealthOf(cluster), Sets: state.SetsOf(cluster), Version: cluster.Status.Version.Kubernetes,
		Created: cluster.CreationTimestamp, Accepted: cluster.Spec.HubAcceptsClient, Taints: cluster.Spec.Taints,
		Lease: time.Duration(cluster.Spec.LeaseDurationSeconds) * time.Second, Conditions: cluster.Status.Conditions,
		Scores: state.ScoresOf(cluster.Name),
	}
	if found := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable); found != nil {
		out.Since, out.Message = found.LastTransitionTime, found.Message
	}
	for _, key := range slices.Sorted(maps.Keys(cluster.Labels)) {
		out.Labels = append(out.Labels, pair{key, cluster.Labels[key]})
	}
	for _, claim := range cluster.Status.ClusterClaims {
		out.Claims = append(out.Claims, pair{claim.Name, claim.Value})
	}
	for _, name := range slices.Sorted(maps.Keys(cluster.Status.Capacity)) {
		row := amount{Name: string(name), Capacity: text(cluster.Status.Capacity, name), Allocatable: text(cluster.Status.Allocatable, name)}
		out.Resources = append(out.Resources, row)
	}
	return out
}

// text returns an amount of a list; empty if the list lacks it.
func text(in clusterv1.ResourceList, name clusterv1.ResourceName) string {
	quantity, ok := in[name]
	if !ok {
		return ""
	}
	return quantity.String()
}

// newClusterReasons returns what placements decided about a cluster, those first that selected it. The decisions have the selected
// clusters; the reasons of the others come from the last run of each.
func newClusterReasons(ctx context.Context, v *view, cluster string) clusterReasons {
	out := clusterReasons{Cluster: cluster}
	selected := v.state.SelectedBy(cluster)
	explained := 0
	for _, placement := range v.state.Bundle.Placements {
		key := file.KeyOf(placement)
		switch {
		case slices.Contains(selected, key):
			out.Rows = append(out.Rows, reasonRow{Key: key, Verdict: "Selected"})
		case explained == maxExplained:
			out.More++
		default:
			explained++
			out.Rows = append(out.Rows, newReasonRow(ctx, v, key, cluster))
		}
	}
	slices.SortStableFunc(out.Rows, func(a, b reasonRow) int { return cmp.Compare(reasonRank(a), reasonRank(b)) })
	return out
}

func newReasonRow(ctx context.Context, v *view, key fleet.Key, cluster string) reasonRow {
	out := reasonRow{Key: key}
	found, err := v.session.Reader.Explain(ctx, key, "")
	if err != nil {
		out.Unknown = err.Error()
		return out
	}
	at, ok := found.Find(cluster)
	if !ok {
		out.Unknown = "the last run had no such cluster"
		return out
	}
	out.Verdict, out.Why = at.Verdict, whyOf(at)
	return out
}

func reasonRank(row reasonRow) int {
	switch {
	case row.Verdict == "Selected":
		return 0
	case row.Unknown != "":
		return 2
	default:
		return 1
	}
}

// whyOf returns the reason for a verdict.
func whyOf(c *explain.Cluster) string { return cmp.Or(c.Shortfall(), c.Why) }
