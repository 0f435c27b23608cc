package report

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/kube/hold"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/rollout"
)

// Holds returns what is held back of a set, by its status: a breach, and each mandatory group that is not proven.
func Holds(set *workv1alpha1.ManifestWorkReplicaSet) []hold.Hold {
	condition, record := meta.FindStatusCondition(set.Status.Conditions, workv1alpha1.Progressing), set.Status.Rollout
	if condition == nil || record == nil {
		return nil
	}
	var out []hold.Hold
	breach := -1
	for _, held := range record.Holds {
		one := newHold(set, held, condition)
		switch {
		case held.Type != clusterv1alpha1.HoldBreach:
			out = append(out, one)
		case breach < 0: // one stands for all placements: the failures of a set are forgiven together
			breach = len(out)
			out = append(out, one)
		case one.Since.Before(out[breach].Since):
			out[breach] = one
		}
	}
	return out
}

// newHold returns a hold on record with its cause and what ends it.
func newHold(set *workv1alpha1.ManifestWorkReplicaSet, held clusterv1alpha1.RolloutHold, condition *metav1.Condition) hold.Hold {
	out := hold.Hold{
		Type: hold.Type(held.Type), Kind: "ManifestWorkReplicaSet", Namespace: set.Namespace, Name: set.Name,
		Placement: held.Placement, Cause: condition.Message, Since: &held.Since,
	}
	if held.Type == clusterv1alpha1.HoldUnprovenGroup {
		out.Group = &held.MandatoryDecisionGroup
		if condition.Reason != string(rollout.PhaseUnproven) {
			const text = "No cluster of the mandatory group with %s of Placement %s can prove the change: later groups wait until a person passes it"
			out.Cause = fmt.Sprintf(text, rollout.Reference(*out.Group), held.Placement)
		}
	}
	if held.Type == clusterv1alpha1.HoldBreach {
		out.Cause = breachCause(set, held.Placement, condition)
	}
	out.End = out.ReleaseCommand()
	if set.Status.AbortedTime != nil {
		out.End = "another template: the rollout was aborted, and its clusters return"
	}
	return out
}

// breachCause returns why a breach holds a set. The condition has the cause while the placement is in the set and has clusters to start.
func breachCause(set *workv1alpha1.ManifestWorkReplicaSet, placement string, condition *metav1.Condition) string {
	refers := slices.ContainsFunc(set.Spec.PlacementRefs, func(ref workv1alpha1.LocalPlacementReference) bool { return ref.Name == placement })
	breached := condition.Reason == string(rollout.PhaseBreached) || condition.Reason == string(rollout.PhaseFailed)
	if refers && breached {
		return condition.Message
	}
	cause := "More clusters failed or were lost under Placement " + placement + " than its maxFailures allows"
	if !refers {
		cause += "; it was taken out of the set since"
	}
	var names []string
	if record := set.Status.Rollout; record != nil {
		for _, entry := range record.Clusters {
			if entry.Placement == placement && (entry.Phase == clusterv1alpha1.ClusterFailed || entry.Phase == clusterv1alpha1.ClusterLost) {
				names = append(names, entry.Name)
			}
		}
	}
	if len(names) > 0 {
		cause += ": " + phrase.Join(names, phrase.MaxNames)
	}
	return cause
}
