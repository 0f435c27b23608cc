package review

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// deniedError denies the request, in contrast to a failure of the webhook.
type deniedError struct {
	status *apierrors.StatusError
}

// Error returns the message for the user.
func (e *deniedError) Error() string { return e.status.Error() }

// Forbidden denies a request for a missing permission. why states the action and the permission that it needs.
func Forbidden(resource schema.GroupResource, name, why string) error {
	return &deniedError{apierrors.NewForbidden(resource, name, errors.New(why))}
}

// BadRequest denies an object for errors for which existing clients expect status 400. Without errors it returns nil.
func BadRequest(kind schema.GroupKind, name string, faults field.ErrorList) error {
	if len(faults) == 0 {
		return nil
	}
	return &deniedError{apierrors.NewBadRequest(fmt.Sprintf("%s %q is invalid: %v", kind, name, faults.ToAggregate()))}
}

// Invalid denies an object for its errors. Without errors it returns nil.
func Invalid(kind schema.GroupKind, name string, faults field.ErrorList) error {
	if len(faults) == 0 {
		return nil
	}
	return &deniedError{apierrors.NewInvalid(kind, name, faults)}
}
