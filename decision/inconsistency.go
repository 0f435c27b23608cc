package decision

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// sliceLimit is how many clusters a slice holds at rest.
const sliceLimit = 100

// InconsistencyCode says by what a change under way is seen.
type InconsistencyCode string

// The tears. None of them lasts where the hub that decides is at work.
const (
	// ClusterTwice says that a cluster is in two slices: it is moving from one to the other.
	ClusterTwice InconsistencyCode = "ClusterTwice"
	// SliceOverfull says that a slice has more clusters than it holds at rest: some are about to leave it.
	SliceOverfull InconsistencyCode = "SliceOverfull"
	// GroupNamedTwice says that slices with one index bear different names: they are being labelled.
	GroupNamedTwice InconsistencyCode = "GroupNamedTwice"
	// StrategiesDiffer says that slices were filled under different group strategies: they are being divided anew.
	StrategiesDiffer InconsistencyCode = "StrategiesDiffer"
)

// Inconsistency is one sign that a reading caught the slices in the middle of a change.
type Inconsistency struct {
	Code InconsistencyCode
	// Subject is a cluster with ClusterTwice, a slice with SliceOverfull, an index with GroupNamedTwice, and empty with
	// StrategiesDiffer.
	Subject string
}

// String returns the tear in words.
func (t Inconsistency) String() string {
	switch t.Code {
	case ClusterTwice:
		return "cluster " + t.Subject + " is in two slices"
	case SliceOverfull:
		return fmt.Sprintf("slice %s has more than %d clusters", t.Subject, sliceLimit)
	case GroupNamedTwice:
		return "slices of group " + t.Subject + " bear different names"
	case StrategiesDiffer:
		return "slices were filled under different group strategies"
	default:
		return string(t.Code)
	}
}

// Inconsistent says whether the reading caught the slices in the middle of a change. Clusters that stay selected are in it all
// the same, but their groups may be about to change, and newcomers to come.
//
// A change that is one write, or several that each leave the slices as they may be at rest, cannot be seen in them.
func (s Decisions) Inconsistent() bool { return len(s.inconsistencies) > 0 }

// Inconsistencies returns every sign of a change under way, by code, then subject. The caller owns it.
func (s Decisions) Inconsistencies() []Inconsistency { return slices.Clone(s.inconsistencies) }

// inconsistenciesOf looks for signs in slices that are sorted by group.
func inconsistenciesOf(sorted []*clusterv1beta1.PlacementDecision) []Inconsistency {
	found := map[Inconsistency]bool{}
	in := map[string]*clusterv1beta1.PlacementDecision{}
	strategy := ""
	for i, slice := range sorted {
		if len(slice.Status.Decisions) > sliceLimit {
			found[Inconsistency{SliceOverfull, slice.Name}] = true
		}
		for _, decided := range slice.Status.Decisions {
			if other := in[decided.ClusterName]; other != nil && other != slice {
				found[Inconsistency{ClusterTwice, decided.ClusterName}] = true
			}
			in[decided.ClusterName] = slice
		}
		if key := keyOf(slice); i > 0 && key.Index != NoIndex && key.Index == keyOf(sorted[i-1]).Index && key != keyOf(sorted[i-1]) {
			found[Inconsistency{GroupNamedTwice, strconv.Itoa(key.Index)}] = true
		}
		own := clusterv1beta1.DecisionStrategyHash(slice)
		if own != "" && strategy != "" && own != strategy {
			found[Inconsistency{Code: StrategiesDiffer}] = true
		}
		strategy = cmp.Or(own, strategy)
	}
	out := make([]Inconsistency, 0, len(found))
	for tear := range found {
		out = append(out, tear)
	}
	slices.SortFunc(out, func(a, b Inconsistency) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Subject, b.Subject))
	})
	return out
}

// Disagreements returns in words where the status of the placement, which the hub writes last, tells of other groups
// than the reading has; none where the decision was written to its end, as far as both tell. A status that names no
// groups, as other writers may leave it, is held against the number of clusters alone.
func (s Decisions) Disagreements(placement *clusterv1beta1.Placement) []string {
	var out []string
	if told := int(placement.Status.NumberOfSelectedClusters); told != s.Len() {
		out = append(out, fmt.Sprintf("the status tells of %d clusters, the slices have %d", told, s.Len()))
	}
	if len(placement.Status.DecisionGroups) == 0 {
		return out
	}
	type size struct{ told, read int }
	sizes := map[GroupKey]size{}
	var told []string
	for _, group := range placement.Status.DecisionGroups {
		key := GroupKey{int(group.DecisionGroupIndex), group.DecisionGroupName}
		sizes[key] = size{told: int(group.ClustersCount) + sizes[key].told}
		told = append(told, group.Decisions...)
	}
	for _, group := range s.groups {
		sizes[group.GroupKey] = size{sizes[group.GroupKey].told, len(group.Clusters)}
	}
	if slices.Sort(told); !slices.Equal(told, s.sliceNames) {
		out = append(out, fmt.Sprintf("the status names %d slices, and these are not the %d that there are", len(told), len(s.sliceNames)))
	}
	keys := make([]GroupKey, 0, len(sizes))
	for key := range sizes {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, GroupKey.Compare)
	for _, key := range keys {
		if size := sizes[key]; size.told != size.read {
			out = append(out, fmt.Sprintf("group %s: the status tells of %d clusters, the slices have %d", key, size.told, size.read))
		}
	}
	return out
}
