package work

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/rollout"
)

// maxGroups is how many groups a warning names, and how many warnings a placement has.
const maxGroups = 10

// groupWarnings warns of mandatory groups that the decision of a placement does not have or that have no cluster: the rollout will wait
// for them. A placement that has decided nothing is no reason.
func groupWarnings(ctx context.Context, decisions client.Reader, set *workv1alpha1.ManifestWorkReplicaSet, i int) []string {
	ref := &set.Spec.PlacementRefs[i]
	mandatory := rollout.MandatoryGroups(&ref.RolloutStrategy.RolloutStrategy)
	if len(mandatory) == 0 {
		return nil
	}
	list := &clusterv1beta1.PlacementDecisionList{}
	err := decisions.List(ctx, list, client.InNamespace(set.Namespace), client.MatchingLabels{clusterv1beta1.PlacementLabel: ref.Name})
	if err != nil { // a warning is no reason to refuse
		log.FromContext(ctx).Info("reading decisions for the warnings about a set failed", "namespace", set.Namespace, "placement", ref.Name,
			"error", err.Error())
		return nil
	}
	groups := decision.OfList(list).Groups()
	if len(groups) == 0 {
		return nil
	}
	var names, out []string
	for _, group := range groups[:min(len(groups), maxGroups)] {
		names = append(names, group.String())
	}
	for _, to := range mandatory {
		has := slices.ContainsFunc(groups, func(group decision.Group) bool {
			return rollout.RefersTo(to, group.GroupKey) && len(group.Clusters) > 0
		})
		if !has {
			out = append(out, fmt.Sprintf("spec.placementRefs[%d].rolloutStrategy: the mandatory group with %s has no cluster in the decision of "+
				"Placement %q, whose groups are %s: the rollout will wait, with phase MandatoryGroupUnproven, until one of its "+
				"clusters has succeeded or "+
				"`kubectl berth rollout approve` passes it; correct the reference, or the decision groups of the placement",
				i, rollout.Reference(to), ref.Name, strings.Join(names, ", ")))
		}
	}
	return out[:min(len(out), maxGroups)]
}
