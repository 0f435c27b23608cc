// Package hold describes what Berth holds back: a wanted change that does not happen, until its cause ends or a person ends the hold.
package hold

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// Type is why something is held back.
type Type string

const (
	// Breach means that more clusters failed or were lost than a rollout tolerates: no more clusters start.
	Breach Type = "Breach"
	// UnprovenGroup means that no cluster of a mandatory group has proven a template: no later group starts.
	UnprovenGroup Type = "UnprovenGroup"
	// MissingClusters means that clusters which have to get a template are not selected: the rollout does not finish.
	MissingClusters Type = "MissingClusters"
	// Edit means that the last edit of a placement would leave it without clusters: they stay.
	Edit Type = "Edit"
	// Expression means that an expression fails on selected clusters, because a claim or score is missing: they stay for a time.
	Expression Type = "Expression"
	// Reference means that the last edit of a placement names what no cluster has: its clusters stay.
	Reference Type = "Reference"
	// Selector means that the last edit of a ManagedClusterSet would take every member away: they stay.
	Selector Type = "Selector"
	// Brake means that too many clusters would leave placements at once: they stay.
	Brake Type = "Brake"
	// Grace means that a set, a binding, a label or a claim is gone: the clusters that were selected by it stay for seconds.
	Grace Type = "Grace"
)

// MetricName and MetricHelp are the gauge of holds. The controllers of placements, works and sets each report their types of it, by the
// label kind.
const (
	MetricName = "berth_holds"
	MetricHelp = "What is held back until its cause ends or a person ends the hold, by kind: see kubectl berth holds."
)

// Types returns every type.
func Types() []Type {
	return append(RolloutTypes(), Edit, Expression, Reference, Selector, Brake, Grace)
}

// RolloutTypes returns the types that hold a rollout.
func RolloutTypes() []Type { return []Type{Breach, UnprovenGroup, MissingClusters} }

// PlacementReasons returns the types that hold a placement, by the reason of the condition that reports it.
func PlacementReasons() map[string]Type {
	return map[string]Type{
		clusterv1beta1.ReasonEmptiesPlacement: Edit, clusterv1beta1.ReasonValueMissing: Expression, clusterv1beta1.ReasonReferenceHeld: Reference,
	}
}

// OfPlacement returns what is held back of a placement, by its status.
func OfPlacement(placement *clusterv1beta1.Placement) []Hold {
	var out []Hold
	for _, condition := range placement.Status.Conditions {
		kind, held := PlacementReasons()[condition.Reason]
		if !held || condition.Status != metav1.ConditionTrue || condition.ObservedGeneration != placement.Generation {
			continue
		}
		found := Hold{
			Type: kind, Kind: "Placement", Namespace: placement.Namespace, Name: placement.Name,
			Cause: condition.Message, Since: &condition.LastTransitionTime,
		}
		found.End = found.ReleaseCommand()
		out = append(out, found)
	}
	return out
}

// OfClusterSet returns what is held back of a ManagedClusterSet, by its status.
func OfClusterSet(set *clusterv1beta2.ManagedClusterSet) []Hold {
	var out []Hold
	add := func(of Type, condition *metav1.Condition) {
		found := Hold{Type: of, Kind: "ManagedClusterSet", Name: set.Name, Cause: condition.Message, Since: &condition.LastTransitionTime}
		found.End = found.ReleaseCommand()
		out = append(out, found)
	}
	condition := meta.FindStatusCondition(set.Status.Conditions, clusterv1beta2.ManagedClusterSetConditionSelectorHeld)
	if condition != nil && condition.Status == metav1.ConditionTrue && condition.ObservedGeneration == set.Generation {
		add(Selector, condition)
	}
	for _, condition := range clusterv1beta2.BrakeConditions(set) {
		add(Brake, &condition)
	}
	return out
}

// Hold is one thing that is held back.
type Hold struct {
	Type Type `json:"type"`
	// Kind, Namespace and Name are the object whose change is held back.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Placement is the placement whose rollout is held back, and Group its mandatory group; absent for other types.
	Placement string                                  `json:"placement,omitempty"`
	Group     *clusterv1alpha1.MandatoryDecisionGroup `json:"group,omitempty"`
	// Cause is what happened, and what follows.
	Cause string `json:"cause"`
	// Since is when the hold began, whatever else changed since. Until is when the hold ends by itself; absent where it does not.
	Since *metav1.Time `json:"since,omitempty"`
	Until *metav1.Time `json:"until,omitempty"`
	// End is the command that ends the hold, or what ends it where no command does.
	End string `json:"end"`
}

// Object returns the object as commands take it: "manifestworkreplicaset/web".
func (h *Hold) Object() string { return strings.ToLower(h.Kind) + "/" + h.Name }

// List is the holds of a hub as a document. Its JSON is stable: fields are added only.
type List struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Holds      []Hold `json:"holds"`
}

// ListKind is the kind of a List.
const ListKind = "Holds"

// ReleaseCommand returns the command that ends the hold, and no other hold of a set, which may be of another cause.
func (h *Hold) ReleaseCommand() string {
	if h.Namespace == "" {
		return fmt.Sprintf("kubectl berth holds release %s --hold %s --reason WHY", h.Object(), h.Type)
	}
	return fmt.Sprintf("kubectl berth holds release %s -n %s --reason WHY", h.Object(), h.Namespace)
}
