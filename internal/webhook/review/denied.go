package review

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// deniedError is a "no" to the user, in contrast to a failure of ours.
type deniedError struct {
	status *apierrors.StatusError
}

// Error returns what the user reads.
func (e *deniedError) Error() string { return e.status.Error() }

// Forbidden refuses what a user has no right to. why says what that is, and which right it needs.
func Forbidden(resource schema.GroupResource, name, why string) error {
	return &deniedError{apierrors.NewForbidden(resource, name, errors.New(why))}
}

// BadRequest refuses an object for faults that existing clients expect status 400 for; without any it returns nil.
func BadRequest(kind schema.GroupKind, name string, faults field.ErrorList) error {
	if len(faults) == 0 {
		return nil
	}
	return &deniedError{apierrors.NewBadRequest(fmt.Sprintf("%s %q is invalid: %v", kind, name, faults.ToAggregate()))}
}

// Invalid refuses an object for its faults; without any it returns nil.
func Invalid(kind schema.GroupKind, name string, faults field.ErrorList) error {
	if len(faults) == 0 {
		return nil
	}
	return &deniedError{apierrors.NewInvalid(kind, name, faults)}
}
