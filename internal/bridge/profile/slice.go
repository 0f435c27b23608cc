package profile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/engine/plan"
)

// revisionBytes is how many bytes of the hash of a decision are its revision.
const revisionBytes = 8

// slice is one wanted PlacementDecision of multicluster.x-k8s.io. It has the name of the slice of the placement that it follows.
type slice struct {
	name string
	// index counts the slices from 0. A gap in the numbers of the slices of the placement leaves no gap here.
	index   int
	entries []multiclusterv1alpha1.ClusterDecision
}

// targets returns the wanted slices of a placement by index, from its stored slices, which must be consistent. Only admitted clusters
// are in them: the others are returned as left out, by name.
func targets(namespace string, stored []*clusterv1beta1.PlacementDecision,
	admitted func(cluster string) bool,
) (out []slice, leftOut []string) {
	groups, order := decision.Of(stored...), ranks(stored)
	for index, from := range byNumber(stored) {
		to := slice{name: from.Name, index: index, entries: []multiclusterv1alpha1.ClusterDecision{}}
		for _, entry := range from.Status.Decisions {
			if !admitted(entry.ClusterName) {
				leftOut = append(leftOut, entry.ClusterName)
				continue
			}
			group, _ := groups.GroupOf(entry.ClusterName)
			to.entries = append(to.entries, multiclusterv1alpha1.ClusterDecision{
				ClusterProfileRef: multiclusterv1alpha1.ClusterProfileReference{Name: entry.ClusterName, Namespace: namespace},
				Reason:            reason(group, entry.Reason, order[entry.ClusterName]),
			})
		}
		out = append(out, to)
	}
	slices.Sort(leftOut)
	return out, leftOut
}

// byNumber returns slices by the number in their names. Slices of another scheduler may have other names: these are last.
func byNumber(stored []*clusterv1beta1.PlacementDecision) []*clusterv1beta1.PlacementDecision {
	number := func(s *clusterv1beta1.PlacementDecision) int {
		if _, number, ok := plan.Owner(s); ok {
			return number
		}
		return math.MaxInt
	}
	return slices.SortedFunc(slices.Values(stored), func(a, b *clusterv1beta1.PlacementDecision) int {
		return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a.Name, b.Name))
	})
}

// ranks returns the ranks of clusters in their decision groups, from 1, by score and name. Only groups whose entries have scores have
// ranks: other entries are in the order of their names.
func ranks(stored []*clusterv1beta1.PlacementDecision) map[string]int {
	groups, entries := decision.Of(stored...), map[decision.GroupKey][]clusterv1beta1.ClusterDecision{}
	scored := map[decision.GroupKey]bool{}
	for _, from := range stored {
		for _, entry := range from.Status.Decisions {
			group, _ := groups.GroupOf(entry.ClusterName)
			entries[group] = append(entries[group], entry)
			scored[group] = scored[group] || entry.Score != 0
		}
	}
	out := map[string]int{}
	for group, list := range entries {
		if !scored[group] {
			continue
		}
		slices.SortFunc(list, func(a, b clusterv1beta1.ClusterDecision) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ClusterName, b.ClusterName))
		})
		for i, entry := range list {
			out[entry.ClusterName] = i + 1
		}
	}
	return out
}

// reason returns why a cluster is in a decision, such as "group 0 (canary), rank 3". Tier is empty and rank 0 where the placement has
// none.
func reason(group decision.GroupKey, tier string, rank int) string {
	out := "group " + group.String()
	if tier != "" {
		out += ", tier " + tier
	}
	if rank > 0 {
		out += fmt.Sprintf(", rank %d", rank)
	}
	return out
}

// revision returns the hash of a whole decision.
func revision(all []slice) string {
	hash := sha256.New()
	for _, s := range all {
		fmt.Fprintf(hash, "%d %q\n", s.index, s.name)
		for _, entry := range s.entries {
			fmt.Fprintf(hash, "%q %q\n", entry.ClusterProfileRef.Name, entry.Reason)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:revisionBytes])
}
