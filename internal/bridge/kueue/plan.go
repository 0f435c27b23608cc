package kueue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
)

// maxClusters is how many clusters a MultiKueueConfig may list, by its definition.
const maxClusters = 20

// The reasons of condition Active of an AdmissionCheck.
const (
	reasonActive        = "Active"
	reasonKept          = "ClustersKept"
	reasonNoPlacement   = "PlacementNotFound"
	reasonBadParameters = "ParametersInvalid"
	reasonNoClusters    = "NoClusters"
	reasonForeign       = "ConfigNotOwned"
)

// input is what one list follows from.
type input struct {
	// name is that of the placement, of its list, and in the parameters of its checks. It is empty for the checks that name no placement.
	// namespace is that of Kueue.
	name, namespace string
	// checks are those of the placement, by name. Without any, only config is read.
	checks []*unstructured.Unstructured
	// config is the stored MultiKueueConfig; nil without one.
	config *unstructured.Unstructured
	// placement is nil where it does not exist.
	placement *clusterv1beta1.Placement
	slices    []*clusterv1beta1.PlacementDecision
	// stored are the MultiKueueClusters. profiles are the clusters with a usable profile; nil where Kueue reads kubeconfigs.
	stored, profiles sets.Set[string]
	// unusable are the stored clusters whose profile has been replaced by one of another cluster manager.
	unusable sets.Set[string]
}

// foreign reports whether another client made the stored list.
func (i *input) foreign() bool {
	return i.config != nil && i.config.GetLabels()[PlacementLabel] != i.name
}

// listed returns the clusters of the stored list.
func (i *input) listed() []string {
	if i.config == nil {
		return nil
	}
	out, _, _ := unstructured.NestedStringSlice(i.config.Object, "spec", "clusters")
	return out
}

// usable reports whether Kueue finds a cluster, or will once it has a MultiKueueCluster.
func (i *input) usable(cluster string) bool {
	return i.profiles == nil || i.stored.Has(cluster) && !i.unusable.Has(cluster) || i.profiles.Has(cluster)
}

// output is what a list and its checks get.
type output struct {
	// clusters are what the MultiKueueConfig lists; empty: the checks have no config, or that of another client.
	clusters []string
	// active, reason and message are those of condition Active.
	active          metav1.ConditionStatus
	reason, message string
}

// plan returns the clusters of a list and the condition of its checks. It acts on a complete decision only, and never empties a list: Kueue
// would evict every workload of the queue.
func plan(in input) output {
	switch {
	case in.name == "":
		return inactive(reasonBadParameters, "its parameters must name a Placement of group cluster.open-cluster-management.io")
	case in.foreign():
		return inactive(reasonForeign, fmt.Sprintf("MultiKueueConfig %s was not made for a placement: delete it, or name another placement",
			in.name))
	case in.placement == nil:
		return in.keep(reasonNoPlacement, fmt.Sprintf("placement %s does not exist", in.name))
	}
	decided := decision.Of(in.slices...)
	if obstacles := decided.Obstacles(in.placement); len(obstacles) > 0 {
		return in.keep(reasonNoClusters, fmt.Sprintf("the decision of placement %s is not complete: %s", in.name, obstacles[0]))
	}
	selected := ranked(in.slices)
	if len(selected) == 0 {
		return in.keep(reasonNoClusters, fmt.Sprintf("placement %s selects no cluster", in.name))
	}
	message := fmt.Sprintf("placement %s selects %d clusters", in.name, len(selected))
	usable := slices.DeleteFunc(slices.Clone(selected), func(name string) bool { return !in.usable(name) })
	if waiting := len(selected) - len(usable); waiting > 0 {
		first := selected[slices.IndexFunc(selected, func(name string) bool { return !in.usable(name) })]
		message += fmt.Sprintf("; %d of them lack a ClusterProfile of their own in namespace %s: %s", waiting, in.namespace, first)
	}
	if len(usable) == 0 {
		return in.keep(reasonNoClusters, message)
	}
	if len(usable) > maxClusters {
		message += fmt.Sprintf("; %d are used, because Kueue takes no more", maxClusters)
	}
	return output{clusters: choose(usable, in.listed()), active: metav1.ConditionTrue, reason: reasonActive, message: message}
}

// choose returns as many clusters as Kueue takes, by rank: those that are listed, because Kueue evicts the workloads of a cluster that
// leaves the list, and then the first others.
func choose(usable, listed []string) []string {
	stays := sets.New(usable...).Intersection(sets.New(listed...))
	free := maxClusters - len(stays)
	var out []string
	for _, name := range usable {
		if !stays.Has(name) {
			if free <= 0 {
				continue
			}
			free--
		}
		out = append(out, name)
	}
	return out
}

// keep leaves the list as it is, and reports why. A check without a list is not active.
func (i *input) keep(reason, why string) output {
	listed := i.listed()
	if len(listed) == 0 {
		return inactive(reason, why)
	}
	return output{
		clusters: listed, active: metav1.ConditionTrue, reason: reasonKept,
		message: fmt.Sprintf("%s; the last clusters stay: %s", why, strings.Join(listed, ", ")),
	}
}

func inactive(reason, message string) output {
	return output{active: metav1.ConditionFalse, reason: reason, message: message}
}

// ranked returns the clusters by score, the highest first, and then by name. Placements sorted by score have one in each decision.
func ranked(decided []*clusterv1beta1.PlacementDecision) []string {
	scores := map[string]int64{}
	for _, slice := range decided {
		for _, each := range slice.Status.Decisions {
			scores[each.ClusterName] = each.Score
		}
	}
	out := make([]string, 0, len(scores))
	for name := range scores {
		out = append(out, name)
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	return out
}
