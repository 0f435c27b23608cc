package review_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/admission/review"
)

type set = clusterv1beta2.ManagedClusterSet

var (
	errBoom  = errors.New("boom")
	resource = schema.GroupResource{Group: "g", Resource: "sets"}
	kind     = schema.GroupKind{Group: "g", Kind: "Set"}
)

// sendReview sends a request as the API server does and returns the response.
func sendReview[T any](t *testing.T, request admissionv1.AdmissionRequest, decide review.ReviewFunc[T]) *admissionv1.AdmissionResponse {
	t.Helper()
	request.UID = "1"
	sent := admissionv1.AdmissionReview{Request: &request}
	sent.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	body, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	post := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
	post.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	review.Handler(decide).ServeHTTP(recorder, post)
	var answered admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &answered); err != nil {
		t.Fatal(err)
	}
	return answered.Response
}

func raw(name string) runtime.RawExtension {
	return runtime.RawExtension{Raw: []byte(`{"metadata":{"name":"` + name + `"}}`)}
}

func TestHandlerPassesTheRequest(t *testing.T) {
	user := authenticationv1.UserInfo{Username: "jane", Groups: []string{"devs"}}
	var got review.Request[set]
	answer := sendReview(t, admissionv1.AdmissionRequest{
		Operation: admissionv1.Update, Object: raw("after"), OldObject: raw("before"),
		UserInfo: user,
	},
		func(_ context.Context, c review.Request[set]) (review.Response, error) {
			got = c
			return review.Response{Warnings: []string{"mind the gap"}, Patches: []jsonpatch.Operation{{Operation: "add", Path: "/a", Value: "b"}}},
				nil
		})
	if got.Old.Name != "before" || got.New.Name != "after" {
		t.Errorf("case is about %q and %q, want before and after", got.Old.Name, got.New.Name)
	}
	if diff := cmp.Diff(user, got.User); diff != "" {
		t.Errorf("user (-want +got):\n%s", diff)
	}
	if !answer.Allowed || string(answer.Patch) != `[{"op":"add","path":"/a","value":"b"}]` {
		t.Errorf("response = %+v, want it allowed with the patch", answer)
	}
	if diff := cmp.Diff([]string{"mind the gap"}, answer.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestStatusIsNotDecoded: a quantity in a status may take minutes to parse.
func TestStatusIsNotDecoded(t *testing.T) {
	object := runtime.RawExtension{
		Raw: []byte(`{"metadata":{"name":"c1"},"status":{"allocatable":{"memory":"0.1e-700000000"},"capacity":"x"}}`),
	}
	answer := sendReview(t, admissionv1.AdmissionRequest{Operation: admissionv1.Create, Object: object},
		func(_ context.Context, c review.Request[clusterv1.ManagedCluster]) (review.Response, error) {
			if c.New.Name != "c1" || c.New.Status.Allocatable != nil {
				t.Errorf("case is about %q with %v, want c1 without a status", c.New.Name, c.New.Status.Allocatable)
			}
			return review.Response{}, nil
		})
	if !answer.Allowed {
		t.Errorf("response = %v, want it allowed", answer.Result)
	}
}

func TestHandlerDeniesOnErrors(t *testing.T) {
	whole := admissionv1.AdmissionRequest{Operation: admissionv1.Create, Object: raw("x")}
	for name, tc := range map[string]struct {
		request admissionv1.AdmissionRequest
		err     error
		code    int32
		message string
	}{
		"a forbidden request": {whole, review.Forbidden(resource, "x", "you may not"), 403, `sets.g "x" is forbidden: you may not`},
		"a bad request": {
			whole, review.BadRequest(kind, "x", field.ErrorList{field.Required(field.NewPath("spec", "a"), "give one")}), 400,
			`Set.g "x" is invalid: spec.a: Required value: give one`,
		},
		"an invalid object": {
			whole, review.Invalid(kind, "x", field.ErrorList{field.Required(field.NewPath("spec", "a"), "give one")}), 422,
			`Set.g "x" is invalid: spec.a: Required value: give one`,
		},
		"a failed check": {whole, errBoom, 500, "Internal error occurred: the request could not be checked, so it is denied; try again: boom"},
		"a refusal of the webhook's own request": {
			whole, fmt.Errorf("asking: %w", apierrors.NewForbidden(resource, "y", errBoom)), 500,
			`Internal error occurred: the request could not be checked, so it is denied; try again: asking: sets.g "y" is forbidden: boom`,
		},
		"a subresource": {
			admissionv1.AdmissionRequest{Operation: admissionv1.Update, Object: raw("x"), OldObject: raw("x"), SubResource: "status"},
			nil, 400,
			"the subresource status is not supported: only the object itself is checked",
		},
		"a deletion": {
			admissionv1.AdmissionRequest{Operation: admissionv1.Delete, OldObject: raw("x")},
			nil, 400,
			"the operation DELETE is not supported: only creates and updates are checked",
		},
		"a body that is not an object": {
			admissionv1.AdmissionRequest{Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: []byte(`[]`)}},
			nil, 400,
			"reading the object: json: cannot unmarshal array into Go value of type v1beta2.ManagedClusterSet",
		},
	} {
		t.Run(name, func(t *testing.T) {
			answer := sendReview(t, tc.request, func(context.Context, review.Request[set]) (review.Response, error) {
				return review.Response{}, tc.err
			})
			if answer.Allowed || answer.Result.Code != tc.code || answer.Result.Message != tc.message {
				t.Errorf("response = %v %d %q, want %d %q", answer.Allowed, answer.Result.Code, answer.Result.Message, tc.code, tc.message)
			}
		})
	}
}

func TestNoErrorsAreNoDenial(t *testing.T) {
	if err := review.Invalid(kind, "x", nil); err != nil {
		t.Errorf("Invalid without faults = %v, want nil", err)
	}
}

func TestNewErrors(t *testing.T) {
	at := func(index int, value string) *field.Error {
		return field.Invalid(field.NewPath("spec").Index(index), value, "bad")
	}
	list := func(faults ...*field.Error) field.ErrorList { return faults }
	for name, tc := range map[string]struct{ before, after, want field.ErrorList }{
		"a valid object stays valid":      {},
		"a first error":                   {nil, list(at(0, "a")), list(at(0, "a"))},
		"an error that stays":             {list(at(0, "a")), list(at(0, "a")), nil},
		"an error that disappears":        {list(at(0, "a")), nil, nil},
		"an error that moves in its list": {list(at(1, "a")), list(at(0, "a")), nil},
		"an error that changes":           {list(at(0, "a")), list(at(0, "b")), list(at(0, "b"))},
		"an error that is repeated":       {list(at(0, "a")), list(at(0, "a"), at(1, "a")), list(at(1, "a"))},
		"another field with the same error": {
			list(field.Required(field.NewPath("a"), "")), list(field.Required(field.NewPath("b"), "")),
			list(field.Required(field.NewPath("b"), "")),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, review.NewErrors(tc.before, tc.after)); diff != "" {
				t.Errorf("new faults (-want +got):\n%s", diff)
			}
		})
	}
}
