package uninstall

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Verb is what a step does to its object.
type Verb string

// The verbs of steps.
const (
	// Delete deletes the object.
	Delete Verb = "delete"
	// StopConversion ends the conversion between the versions of a definition.
	StopConversion Verb = "stop conversion of"
	// RemoveFinalizers removes the finalizers of Berth's controllers.
	RemoveFinalizers Verb = "remove finalizers of"
)

// Step is one change of a hub.
type Step struct {
	Verb Verb
	// Object is the object as it was read.
	Object client.Object
	// Kind is the kind of the object.
	Kind string
	// finalizers are those that RemoveFinalizers removes.
	finalizers []string
}

// String returns the step for a user, such as "delete ValidatingAdmissionPolicy berth-agents".
func (s Step) String() string {
	name := s.Object.GetName()
	if namespace := s.Object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return fmt.Sprintf("%s %s %s", s.Verb, s.Kind, name)
}
