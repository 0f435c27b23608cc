package decision

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// sliceLimit is how many clusters a complete slice has at most.
const sliceLimit = 100

// InconsistencyCode is a kind of inconsistency.
type InconsistencyCode string

// The codes. None lasts while the hub of the placement runs.
const (
	// ClusterTwice means that a cluster is in two slices: it moves from one to the other.
	ClusterTwice InconsistencyCode = "ClusterTwice"
	// SliceOverfull means that a slice has more than 100 clusters: some are about to leave it.
	SliceOverfull InconsistencyCode = "SliceOverfull"
	// GroupNamedTwice means that slices with the same index have different group names: their labels are being written.
	GroupNamedTwice InconsistencyCode = "GroupNamedTwice"
	// StrategiesDiffer means that slices have different group strategies: the groups are being rebuilt.
	StrategiesDiffer InconsistencyCode = "StrategiesDiffer"
)

// Inconsistency is one sign that slices were read in the middle of a change.
type Inconsistency struct {
	Code InconsistencyCode
	// Subject is the cluster of ClusterTwice, the slice of SliceOverfull, the index of GroupNamedTwice, and empty for
	// StrategiesDiffer.
	Subject string
}

// String returns a sentence for the reader of a log.
func (i Inconsistency) String() string {
	switch i.Code {
	case ClusterTwice:
		return "cluster " + i.Subject + " is in two slices"
	case SliceOverfull:
		return fmt.Sprintf("slice %s has more than %d clusters", i.Subject, sliceLimit)
	case GroupNamedTwice:
		return "slices of group " + i.Subject + " have different names"
	case StrategiesDiffer:
		return "slices have different group strategies"
	default:
		return string(i.Code)
	}
}

// Inconsistent reports whether the slices were read in the middle of a change. The Decisions still have every cluster that stays
// selected, but groups may be about to change and new clusters may be missing.
//
// A change that leaves the slices consistent after each write is not detected.
func (d Decisions) Inconsistent() bool { return len(d.inconsistencies) > 0 }

// Inconsistencies returns every sign of a change, by code, then subject. The caller owns the result.
func (d Decisions) Inconsistencies() []Inconsistency { return slices.Clone(d.inconsistencies) }

// inconsistenciesOf finds the signs in slices that are sorted by group.
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

// Disagreements returns the differences between the status of the placement, which the hub writes last, and the Decisions, each as a
// sentence. It returns none if the decision is complete. If the status has no groups, only the number of clusters is compared.
func (d Decisions) Disagreements(placement *clusterv1beta1.Placement) []string {
	var out []string
	if count := int(placement.Status.NumberOfSelectedClusters); count != d.Len() {
		out = append(out, fmt.Sprintf("the status has %d clusters, the slices have %d", count, d.Len()))
	}
	if len(placement.Status.DecisionGroups) == 0 {
		return out
	}
	type size struct{ status, read int }
	sizes := map[GroupKey]size{}
	var listed []string
	for _, group := range placement.Status.DecisionGroups {
		key := GroupKey{int(group.DecisionGroupIndex), group.DecisionGroupName}
		sizes[key] = size{status: int(group.ClustersCount) + sizes[key].status}
		listed = append(listed, group.Decisions...)
	}
	for _, group := range d.groups {
		sizes[group.GroupKey] = size{sizes[group.GroupKey].status, len(group.Clusters)}
	}
	if slices.Sort(listed); !slices.Equal(listed, d.sliceNames) {
		out = append(out, fmt.Sprintf("the status lists %d slices, which are not the %d stored slices", len(listed), len(d.sliceNames)))
	}
	keys := make([]GroupKey, 0, len(sizes))
	for key := range sizes {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, GroupKey.Compare)
	for _, key := range keys {
		if size := sizes[key]; size.status != size.read {
			out = append(out, fmt.Sprintf("group %s: the status has %d clusters, the slices have %d", key, size.status, size.read))
		}
	}
	return out
}
