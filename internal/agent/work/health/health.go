// Package health reads from an object of the member how it is: whether it works, whether later objects can rely on it, and whether it ran
// to its end.
//
// It reads status and metadata alone, and sends no request. Kinds without a status are healthy as soon as they exist.
package health

import (
	"slices"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// State is how an object is.
type State int

// States.
const (
	// Healthy is an object in its desired state.
	Healthy State = iota
	// Changing is an object on its way there, or on its way out.
	Changing
	// Failing is an object that cannot get there by itself.
	Failing
	// Unknown is an object whose status cannot be read.
	Unknown
)

// Of returns how an object is, and what it waits for.
func Of(object *unstructured.Unstructured) (state State, message string) {
	if object.GetDeletionTimestamp() != nil {
		return Changing, "is being deleted"
	}
	found, err := status.Compute(object)
	if err != nil {
		return Unknown, err.Error()
	}
	switch found.Status {
	case status.CurrentStatus:
		return Healthy, found.Message
	case status.FailedStatus:
		return Failing, found.Message
	case status.InProgressStatus, status.TerminatingStatus:
		return Changing, found.Message
	default:
		return Unknown, found.Message
	}
}

// Serving returns whether objects of later ranks can rely on an object: an established definition, an active namespace, an available
// API service.
func Serving(object *unstructured.Unstructured) bool {
	switch kind := object.GroupVersionKind().GroupKind().String(); kind {
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return hasCondition(object, "Established")
	case "APIService.apiregistration.k8s.io":
		return hasCondition(object, "Available")
	case "Namespace":
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase") // another type is no phase
		return phase == "Active"
	default:
		return true
	}
}

// Finished returns whether an object ran to its end, as a Job does.
func Finished(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind().String() == "Job.batch" &&
		(hasCondition(object, "Complete") || hasCondition(object, "Failed"))
}

// hasCondition returns whether a condition is True.
func hasCondition(object *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions") // another type is no condition
	return slices.ContainsFunc(conditions, func(each any) bool {
		condition, _ := each.(map[string]any)
		return condition["type"] == kind && condition["status"] == "True"
	})
}
