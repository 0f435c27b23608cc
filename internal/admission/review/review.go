// Package review decodes admission requests and encodes responses, the same for every kind.
//
// The invariant: a request that cannot be decoded or checked is denied.
package review

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"net/http"

	jsonpatch "gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Request is a write of one object. Old and New are read-only.
type Request[T any] struct {
	// Old is the stored object, nil when the object is created.
	Old *T
	// New is the object of the request, without its status.
	New  *T
	User authenticationv1.UserInfo
}

// Response is the response to an allowed request.
type Response struct {
	Warnings []string
	// Patches change the object. Only a mutating webhook may return them.
	Patches []jsonpatch.Operation
}

// ReviewFunc returns the response to a request, or an error that denies it. Errors of Forbidden, Invalid and BadRequest are
// returned to the user. Any other error, such as one of the API server, is a failure of the hub.
type ReviewFunc[T any] func(ctx context.Context, c Request[T]) (Response, error) //nolint:revive // the name Func alone would be unclear

// Handler serves a function for creates and updates.
func Handler[T any](decide ReviewFunc[T]) http.Handler {
	return &admission.Webhook{Handler: admission.HandlerFunc(func(ctx context.Context, request admission.Request) admission.Response {
		c, err := decode[T](request)
		if err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		answer, err := decide(ctx, c)
		if err != nil {
			return errorResponse(ctx, err).WithWarnings(answer.Warnings...)
		}
		return admission.Patched("", answer.Patches...).WithWarnings(answer.Warnings...)
	})}
}

// Deletions serves a function that warns of deletions. It refuses none.
func Deletions[T any](warn func(old *T) []string) http.Handler {
	return &admission.Webhook{Handler: admission.HandlerFunc(func(_ context.Context, request admission.Request) admission.Response {
		old := new(T)
		if err := json.Unmarshal(request.OldObject.Raw, old); err != nil {
			return admission.Allowed("")
		}
		return admission.Allowed("").WithWarnings(warn(old)...)
	})}
}

func decode[T any](request admission.Request) (Request[T], error) {
	c := Request[T]{New: new(T), User: request.UserInfo}
	if request.SubResource != "" {
		return c, fmt.Errorf("the subresource %s is not supported: only the object itself is checked", request.SubResource)
	}
	switch request.Operation {
	case admissionv1.Create:
	case admissionv1.Update:
		c.Old = new(T)
		if err := json.Unmarshal(request.OldObject.Raw, c.Old); err != nil {
			return c, fmt.Errorf("reading the stored object: %w", err)
		}
	default:
		return c, fmt.Errorf("the operation %s is not supported: only creates and updates are checked", request.Operation)
	}
	if err := json.Unmarshal(withoutStatus(request.Object.Raw), c.New); err != nil {
		return c, fmt.Errorf("reading the object: %w", err)
	}
	return c, nil
}

// withoutStatus returns an object without its status. The API server does not store a status from such a request, but removes it
// only after mutating webhooks. A quantity in it, such as "0.1e-700000000", may take minutes and gigabytes to parse.
func withoutStatus(object []byte) []byte {
	var fields map[string]stdjson.RawMessage
	if err := stdjson.Unmarshal(object, &fields); err != nil || fields["status"] == nil {
		return object
	}
	delete(fields, "status")
	out, err := stdjson.Marshal(fields)
	if err != nil {
		return object
	}
	return out
}

// errorResponse turns an error into a response. A failure of the webhook is logged, since the user cannot fix it.
func errorResponse(ctx context.Context, err error) admission.Response {
	var status metav1.Status
	if refused, ok := errors.AsType[*deniedError](err); ok {
		status = refused.status.Status()
	} else {
		log.FromContext(ctx).Error(err, "checking an admission request failed, so it is denied")
		status = apierrors.NewInternalError(fmt.Errorf("the request could not be checked, so it is denied; try again: %w", err)).Status()
	}
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &status}}
}
