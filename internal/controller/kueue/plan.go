package kueue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// input is what the plan of one AdmissionCheck reads.
type input struct {
	// name is the name of the placement in the parameters; empty where they name none.
	name string
	// placement is nil where it does not exist.
	placement *clusterv1beta1.Placement
	slices    []*clusterv1beta1.PlacementDecision
	// listed are the clusters in the stored MultiKueueConfig; nil without one.
	listed []string
	// owners are those of the stored config.
	owners []metav1.OwnerReference
	// foreign is set where the MultiKueueConfig was made by another client.
	foreign bool
}

// output is what a check gets.
type output struct {
	// clusters are what the MultiKueueConfig lists; empty: the check has no config, or that of another client.
	clusters []string
	// active, reason and message are those of condition Active.
	active          metav1.ConditionStatus
	reason, message string
}

// plan returns the clusters and the condition of a check. It acts on a complete decision only, and never empties a list: Kueue would evict
// every workload of the queue.
func plan(in input) output {
	switch {
	case in.name == "":
		return inactive(reasonBadParameters, "its parameters must name a Placement of group cluster.open-cluster-management.io")
	case in.foreign:
		return inactive(reasonForeign, fmt.Sprintf("MultiKueueConfig %s was not made for a placement: delete it, or name another placement", in.name))
	case in.placement == nil:
		return in.keep(reasonNoPlacement, fmt.Sprintf("placement %s does not exist", in.name))
	}
	decided := decision.Of(in.slices...)
	if obstacles := decided.Obstacles(in.placement); len(obstacles) > 0 {
		return in.keep(reasonNoClusters, fmt.Sprintf("the decision of placement %s is not complete: %s", in.name, obstacles[0]))
	}
	clusters := ranked(in.slices)
	if len(clusters) == 0 {
		return in.keep(reasonNoClusters, fmt.Sprintf("placement %s selects no cluster", in.name))
	}
	out := output{clusters: clusters, active: metav1.ConditionTrue, reason: reasonActive, message: fmt.Sprintf("placement %s selects %d clusters", in.name, len(clusters))}
	if len(clusters) > maxClusters {
		out.clusters = clusters[:maxClusters]
		out.message += fmt.Sprintf("; the first %d are used, because Kueue takes no more", maxClusters)
	}
	return out
}

// keep leaves the list as it is, and reports why. A check without a list is not active.
func (in input) keep(reason, why string) output {
	if len(in.listed) == 0 {
		return inactive(reason, why)
	}
	return output{clusters: in.listed, active: metav1.ConditionTrue, reason: reasonKept, message: fmt.Sprintf("%s; the last clusters stay: %s", why, strings.Join(in.listed, ", "))}
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
