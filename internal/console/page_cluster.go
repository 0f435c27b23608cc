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
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/console/model"
	"github.com/berth-project/berth/internal/delivery/report"
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
	out := &page{Title: cluster.Name, Nav: "fleet", Command: v.session.kubectl("describe", "cluster", cluster.Name), live: true}
	member, err := newClusterMember(ctx, v, cluster)
	if err != nil {
		return nil, err
	}
	facts := newClusterFacts(v.state, cluster)
	facts.CanWrite = v.session.Writer != nil
	out.Sections = []section{
		{ID: "cluster-facts", data: facts},
		{ID: "cluster-lease", data: member},
		{ID: "cluster-works", data: member},
		{ID: "cluster-reasons", data: newClusterReasons(ctx, v, cluster.Name)},
		{ID: "cluster-details", data: facts},
	}
	return out, nil
}

// The states of a lease.
const (
	leaseOnTime = "on time"
	leaseLate   = "late"
	leaseSilent = "silent"
	// lateAfter and silentAfter are after how many periods without a renewal a lease is late, and the agent counts as silent.
	lateAfter, silentAfter = 2, 5
	// defaultPeriod is how often an agent renews its lease if the cluster does not set it.
	defaultPeriod = time.Minute
	// maxSets is for how many sets of works a page reads the delivery to a cluster whose works the caller may not list.
	maxSets = 12
)

// clusterMember is the data of the lease and the works of a cluster.
type clusterMember struct {
	Cluster string
	Period  time.Duration
	// Lease is the state of the lease; empty if it is not known.
	Lease string
	Member
	// Deliveries are the sets that deliver to the cluster, where the caller may not list its works.
	Deliveries []clusterDelivery
	// HasWorks is set if the hub has works.
	HasWorks bool
}

// clusterDelivery is how far a set of works is on a cluster.
type clusterDelivery struct {
	Set fleet.Key
	*report.Cluster
}

// newClusterMember returns the lease of a cluster, and what is put on it.
func newClusterMember(ctx context.Context, v *view, cluster *clusterv1.ManagedCluster) (clusterMember, error) {
	out := clusterMember{
		Cluster: cluster.Name, Period: cmp.Or(time.Duration(cluster.Spec.LeaseDurationSeconds)*time.Second, defaultPeriod),
		HasWorks: v.session.Deliveries != nil, Member: Member{
			LeaseProblem: "The lease is not read here.",
			WorksProblem: "The works are not read here.",
		},
	}
	if v.session.Members != nil {
		found, err := v.session.Members.Member(ctx, cluster.Name)
		if err != nil {
			return out, err //nolint:wrapcheck // it names the cluster
		}
		out.Member = *found
	}
	if silent := v.now.Sub(out.Renewed); !out.Renewed.IsZero() && out.Period > 0 {
		switch {
		case silent > silentAfter*out.Period:
			out.Lease = leaseSilent
		case silent > lateAfter*out.Period:
			out.Lease = leaseLate
		default:
			out.Lease = leaseOnTime
		}
	}
	if out.WorksProblem != "" && out.HasWorks {
		out.Deliveries = deliveriesTo(ctx, v, cluster.Name)
	}
	return out, nil
}

// deliveriesTo returns how far the sets of works are on a cluster that one of their placements selected. The caller needs no permission
// in the namespace of the cluster.
func deliveriesTo(ctx context.Context, v *view, cluster string) []clusterDelivery {
	var out []clusterDelivery
	selected, read := v.state.SelectedBy(cluster), 0
	for _, set := range v.state.Bundle.WorkSets {
		key := fleet.Key{Namespace: set.Namespace, Name: set.Name}
		delivers := slices.ContainsFunc(set.Spec.PlacementRefs, func(ref workv1alpha1.LocalPlacementReference) bool {
			return slices.Contains(selected, fleet.Key{Namespace: set.Namespace, Name: ref.Name})
		})
		if !delivers || read == maxSets {
			continue
		}
		read++
		found, err := v.session.Deliveries.Delivery(ctx, key)
		if err != nil {
			continue // the set is gone, or not visible
		}
		if at, ok := found.Find(cluster); ok {
			out = append(out, clusterDelivery{key, at})
		}
	}
	return out
}

func newClusterFacts(state *model.State, cluster *clusterv1.ManagedCluster) clusterFacts {
	out := clusterFacts{
		Name: cluster.Name, Health: model.HealthOf(cluster), Sets: state.SetsOf(cluster), Version: cluster.Status.Version.Kubernetes,
		Created: cluster.CreationTimestamp, Accepted: cluster.Spec.HubAcceptsClient, Taints: cluster.Spec.Taints,
		Conditions: cluster.Status.Conditions,
		Scores:     state.ScoresOf(cluster.Name),
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
	at, err := v.session.Reader.Verdict(ctx, key, cluster)
	if err != nil {
		out.Unknown = err.Error()
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
