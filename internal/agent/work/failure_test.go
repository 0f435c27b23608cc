package work

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
)

// denial is a refusal with the text of a webhook or a policy.
func denial(text string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: text}}
}

// TestFailuresOfTheMember has errors as the API server sends them. planted is in each of them, and must be in no message about a Secret.
func TestFailuresOfTheMember(t *testing.T) {
	const planted = "hidden"
	secret, config := object.ID{Resource: "secrets", Namespace: "n", Name: "s"}, object.ID{Resource: "configmaps", Namespace: "n", Name: "c"}
	invalid := func(fault *field.Error) error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Thing"}, "x", field.ErrorList{fault})
	}
	typed := &apierrors.StatusError{ErrStatus: metav1.Status{
		Code:    http.StatusInternalServerError,
		Message: `failed to create typed patch object (n/x; v1, Kind=Thing): .spec.env: duplicate entries for key [name="` + planted + `"]`,
	}}
	for sentence, test := range map[string]struct {
		err  error
		code plan.Code
		want string
	}{
		"an immutable field": {invalid(field.Invalid(field.NewPath("type"), planted, "field is immutable")), plan.Immutable, "type"},
		"a selector of a Deployment": {
			invalid(field.Invalid(field.NewPath("spec", "selector"), planted, "field is immutable")), plan.Immutable,
			"spec.selector",
		},
		"a StatefulSet": {invalid(field.Forbidden(field.NewPath("spec"),
			"updates to statefulset spec for fields other than 'replicas' are forbidden "+planted)), plan.Immutable, "spec"},
		"the address of a Service": {
			invalid(field.Invalid(field.NewPath("spec", "clusterIPs[0]"), planted, "may not change once set")),
			plan.Immutable, "spec.clusterIPs[0]",
		},
		"the role of a binding": {
			invalid(field.Invalid(field.NewPath("roleRef"), planted, "cannot change roleRef")), plan.Immutable,
			"roleRef",
		},
		"an invalid value": {
			invalid(field.Invalid(field.NewPath("data[k]"), planted, "a valid key must consist of…")), plan.Invalid,
			"data[k]",
		},
		"a list with one key twice": {typed, plan.Invalid, ""},
		"too large":                 {apierrors.NewRequestEntityTooLargeError(planted), plan.TooLarge, ""},
		"forbidden": {apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "x",
			errors.New(`User "u" cannot patch resource "secrets"`)), plan.Forbidden, `User "u" cannot patch`},
		"a namespace that ends": {apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "x",
			errors.New("unable to create new content in namespace n because it is being terminated")), plan.Forbidden, "being terminated"},
		"denied by a webhook": {
			denial(`admission webhook "policy" denied the request: ` + planted), plan.Forbidden,
			`admission webhook "policy" denied the Secret`,
		},
		"denied by a policy": {denial(`things "x" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ` +
			planted), plan.Forbidden, "ValidatingAdmissionPolicy 'p' with binding 'b' denied the Secret"},
		"forbidden by anything else": {denial(planted), plan.Forbidden, "Forbidden"},
		"no response":                {errors.New("dialing: " + planted), plan.Unavailable, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := codeOf(test.err); got != test.code {
				t.Errorf("the code is %s, want %s", got, test.code)
			}
			if got := messageOf(test.err, secret); !strings.Contains(got, test.want) || strings.Contains(got, planted) {
				t.Errorf("the message about a Secret is %q, want %q in it", got, test.want)
			}
			got := messageOf(test.err, config)
			if !strings.Contains(got, test.err.Error()) || (test.code == plan.Immutable) != strings.Contains(got, "; the field cannot change: ") {
				t.Errorf("the message is %q", got)
			}
		})
	}
	long := failureOf(errors.New(strings.Repeat("x", 10000)), config, "", 1, time.Unix(0, 0))
	if !strings.HasSuffix(long.Message, "...; tried again after 2 seconds, and later every 5 minutes") || len(long.Message) > 512 {
		t.Errorf("the message of a long error has %d bytes: %q", len(long.Message), long.Message)
	}
	if got := messageOf(typed, config); !strings.HasSuffix(got, "; the list has this key twice: remove one entry, or merge both") {
		t.Errorf("the message about a list is %q", got)
	}
}
