// Package hold describes what Berth holds back: a wanted change that does not happen, until its cause ends or a person ends the hold.
package hold

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Type is why something is held back.
type Type string

const (
	// Breach means that more clusters failed or were lost than a rollout tolerates: no more clusters start.
	Breach Type = "Breach"
	// UnprovenGroup means that no cluster of a mandatory group has proven a template: no later group starts.
	UnprovenGroup Type = "UnprovenGroup"
)

// Types returns every type.
func Types() []Type { return []Type{Breach, UnprovenGroup} }

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
