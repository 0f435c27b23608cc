// Package review owns the way from an admission request to an answer, the same for every kind: decode, decide, encode.
// It refuses to know what is decided.
//
// The invariant: whatever is not understood, or fails, is refused.
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

// Request is one object on its way into the hub. Old and New are read-only.
type Request[T any] struct {
	// Old is what is stored; nil when the object is created.
	Old *T
	// New is what is to be stored, without its status.
	New  *T
	User authenticationv1.UserInfo
}

// Response is what admission says of a case that it lets pass.
type Response struct {
	Warnings []string
	// Patches change the object; only a mutating webhook may have any.
	Patches []jsonpatch.Operation
}

// ReviewFunc answers a case. An error refuses it: one made by Forbidden, Invalid or BadRequest for the reason that it gives,
// anything else, an API server's refusal to us included, as a failure of the hub.
type ReviewFunc[T any] func(ctx context.Context, c Request[T]) (Response, error)

// Handler serves a decision about creations and updates.
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

func decode[T any](request admission.Request) (Request[T], error) {
	c := Request[T]{New: new(T), User: request.UserInfo}
	if request.SubResource != "" {
		return c, fmt.Errorf("reviewing the subresource %s: only the object itself is reviewed", request.SubResource)
	}
	switch request.Operation {
	case admissionv1.Create:
	case admissionv1.Update:
		c.Old = new(T)
		if err := json.Unmarshal(request.OldObject.Raw, c.Old); err != nil {
			return c, fmt.Errorf("reading the stored object: %w", err)
		}
	default:
		return c, fmt.Errorf("reviewing the operation %s: only creations and updates are reviewed", request.Operation)
	}
	if err := json.Unmarshal(withoutStatus(request.Object.Raw), c.New); err != nil {
		return c, fmt.Errorf("reading the object: %w", err)
	}
	return c, nil
}

// withoutStatus returns an object without its status. The API server stores none from such a request, and removes it only
// after mutating webhooks: a quantity in it, such as "0.1e-700000000", may take minutes and gigabytes to parse.
func withoutStatus(object []byte) []byte {
	var fields map[string]stdjson.RawMessage
	if err := stdjson.Unmarshal(object, &fields); err != nil || fields["status"] == nil {
		return object
	}
	delete(fields, "status")
	out, err := stdjson.Marshal(fields)
	if err != nil {
		return object // it was JSON, so that it is JSON again
	}
	return out
}

// errorResponse turns an error into a response. One of ours is logged, since the user can do nothing about it.
func errorResponse(ctx context.Context, err error) admission.Response {
	var status metav1.Status
	if refused, ok := errors.AsType[*deniedError](err); ok {
		status = refused.status.Status()
	} else {
		log.FromContext(ctx).Error(err, "reviewing failed, so the request is refused")
		status = apierrors.NewInternalError(fmt.Errorf("the request could not be checked, so it is refused; try again: %w", err)).Status()
	}
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &status}}
}
