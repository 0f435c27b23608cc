package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// object is an object as JSON has it.
type object = map[string]any

// requester is a user of the hub, with a certificate.
type requester struct{ kit.Requester }

// newRequester returns a user without permissions.
func newRequester(t *testing.T, name string, groups ...string) requester {
	t.Helper()
	policyInForce.Do(func() { awaitPolicy(t) })
	return connect(t, name, groups, shared.ConfigFor(t, name, groups...))
}

var policyInForce sync.Once

// awaitPolicy waits until the API server evaluates the policy, which is a moment after it was stored.
func awaitPolicy(t *testing.T) {
	t.Helper()
	const name = "system:open-cluster-management:none:a"
	who := connect(t, name, nil, shared.ConfigFor(t, name, "system:masters"))
	kit.Await(t, "the API server evaluates the policy, which is a moment after it was stored", func(ctx context.Context) error {
		got, err := who.send(ctx, http.MethodPost, "/api/v1/namespaces/default/configmaps?dryRun=All", jsonBody,
			object{"metadata": object{"generateName": "a"}})
		if err == nil && got.code != http.StatusForbidden {
			err = errNotInForce
		}
		return err
	})
}

var errNotInForce = errors.New("the policy is not in force")

// administrator returns the administrator of the hub, for the preparation of tests.
func administrator(t *testing.T) requester {
	t.Helper()
	return connect(t, "berth-admin", nil, shared.Config())
}

func connect(t *testing.T, name string, groups []string, config *rest.Config) requester {
	t.Helper()
	return requester{kit.NewRequester(t, config, name, groups...)}
}

// response is a response of the API server.
type response struct {
	code int
	// message is the message of a refusal.
	message string
	body    object
}

const (
	jsonBody   = "application/json"
	mergePatch = "application/merge-patch+json"
)

// do sends a request. The path may have a query.
func (r requester) do(t *testing.T, method, path, contentType string, body any) response {
	t.Helper()
	out := kit.Must(r.send(t.Context(), method, path, contentType, body)).In(t)
	return out
}

// send sends a request. An error means that there is no response.
func (r requester) send(ctx context.Context, method, path, contentType string, body any) (response, error) {
	got, err := r.Send(ctx, method, path, contentType, body)
	out := response{code: got.Code, message: got.Message, body: got.Body}
	if out.body == nil {
		out.body = object{"message": "no JSON: " + got.Text} // a proxy answers in text
		if got.Code >= http.StatusBadRequest {
			out.message = "no JSON: " + got.Text
		}
	}
	return out, err
}

func (r requester) create(t *testing.T, collection string, body object) response {
	t.Helper()
	return r.do(t, http.MethodPost, collection, jsonBody, body)
}

func (r requester) get(t *testing.T, path string) response {
	t.Helper()
	return r.do(t, http.MethodGet, path, jsonBody, nil)
}

// put replaces an object with what the administrator reads, after a merge patch.
func (r requester) put(t *testing.T, path, patch string) response {
	t.Helper()
	for {
		got := r.do(t, http.MethodPut, path, jsonBody, merged(t, mustGet(t, path), patch))
		if got.code != http.StatusConflict {
			return got
		}
	}
}

func (r requester) merge(t *testing.T, path, patch string) response {
	t.Helper()
	return r.do(t, http.MethodPatch, path, mergePatch, json.RawMessage(patch))
}

func (r requester) remove(t *testing.T, path string) response {
	t.Helper()
	return r.do(t, http.MethodDelete, path, jsonBody, nil)
}

// mustSucceed fails the test unless the request succeeded.
func (r response) mustSucceed(t *testing.T) object {
	t.Helper()
	if r.code >= http.StatusBadRequest {
		t.Fatalf("%d: %s", r.code, r.message)
	}
	return r.body
}

// expectRefusal fails the test unless the policy refused the request with a message.
func (r response) expectRefusal(t *testing.T, message string) {
	t.Helper()
	const policy = "ValidatingAdmissionPolicy 'berth-agents' with binding 'berth-agents' denied request: "
	_, got, found := strings.Cut(r.message, policy)
	if !found || !strings.HasPrefix(got, message) {
		t.Errorf("%d: %s\nwant a refusal by the policy: %s", r.code, r.message, message)
	}
}

// expect fails the test unless the request succeeded where the message is empty, else was refused with it.
func (r response) expect(t *testing.T, message string) {
	t.Helper()
	if message != "" {
		r.expectRefusal(t, message)
	} else if r.code >= http.StatusBadRequest {
		t.Errorf("%d: %s", r.code, r.message)
	}
}

func mustGet(t *testing.T, path string) object {
	t.Helper()
	return administrator(t).get(t, path).mustSucceed(t)
}

// merged returns an object after a merge patch. Lists are replaced, null removes.
func merged(t *testing.T, in object, patch string) object {
	t.Helper()
	var changes object
	kit.NoError(t, json.Unmarshal([]byte(patch), &changes))
	out := (&unstructured.Unstructured{Object: in}).DeepCopy().Object
	apply(out, changes)
	return out
}

func apply(into, changes object) {
	for key, value := range changes {
		below, nested := value.(object)
		old, exists := into[key].(object)
		switch {
		case value == nil:
			delete(into, key)
		case nested && exists:
			apply(old, below)
		default:
			into[key] = value
		}
	}
}
