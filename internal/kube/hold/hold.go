// Package hold describes what Berth holds back: a wanted change that does not happen, until its cause ends or a person ends the hold.
package hold

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// Type is why something is held back.
type Type string

const (
	// Breach means that more clusters failed or were lost than a rollout tolerates: no more clusters start.
	Breach Type = "Breach"
	// UnprovenGroup means that no cluster of a mandatory group has proven a template: no later group starts.
	UnprovenGroup Type = "UnprovenGroup"
	// Edit means that the last edit of a placement would leave it without clusters: they stay.
	Edit Type = "Edit"
)

// Types returns every type.
func Types() []Type { return append(RolloutTypes(), Edit) }

// RolloutTypes returns the types that hold a rollout.
func RolloutTypes() []Type { return []Type{Breach, UnprovenGroup} }

// OfPlacement returns what is held back of a placement, by its status.
func OfPlacement(placement *clusterv1beta1.Placement) []Hold {
	held := meta.FindStatusCondition(placement.Status.Conditions, clusterv1beta1.PlacementConditionEditHeld)
	if held == nil || held.Status != metav1.ConditionTrue || held.ObservedGeneration != placement.Generation {
		return nil
	}
	out := Hold{
		Type: Edit, Kind: "Placement", Namespace: placement.Namespace, Name: placement.Name,
		Cause: held.Message, Since: &held.LastTransitionTime,
	}
	out.End = out.ReleaseCommand()
	return []Hold{out}
}

// Hold is one thing that is held back.
type Hold struct {
	Type Type `json:"type"`
	// Kind, Namespace and Name are the object whose change is held back.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Cause is what happened, and what follows.
	Cause string `json:"cause"`
	// Since is when the object began to stand still. Until is when the hold ends by itself; absent where it does not.
	Since *metav1.Time `json:"since,omitempty"`
	Until *metav1.Time `json:"until,omitempty"`
	// End is the command that ends the hold, or what ends it where no command does.
	End string `json:"end"`
}

// Object returns the object as commands take it: "manifestworkreplicaset/web".
func (h *Hold) Object() string { return strings.ToLower(h.Kind) + "/" + h.Name }

// ReleaseCommand returns the command that ends the hold.
func (h *Hold) ReleaseCommand() string {
	return fmt.Sprintf("kubectl berth holds release %s -n %s --reason WHY", h.Object(), h.Namespace)
}
