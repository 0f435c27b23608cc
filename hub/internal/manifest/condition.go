package manifest

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var errNotEstablished = errors.New("not established yet")

// nameConflictError is returned when the names of a definition conflict with another definition. Waiting does not help.
type nameConflictError struct {
	message string
}

// Error returns the API server's explanation.
func (e *nameConflictError) Error() string { return "names not accepted: " + e.message }

// established returns nil once the API server has accepted the definition.
func established(definition *unstructured.Unstructured) error {
	conditions, _, err := unstructured.NestedSlice(definition.Object, "status", "conditions")
	if err != nil {
		return fmt.Errorf("reading the conditions: %w", err)
	}
	result := errNotEstablished
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		switch {
		case condition["type"] == "NamesAccepted" && condition["status"] == "False":
			message, _ := condition["message"].(string)
			return &nameConflictError{message: message}
		case condition["type"] == "Established" && condition["status"] == "True":
			result = nil
		}
	}
	return result
}
