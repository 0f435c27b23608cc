package review_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/internal/admission/binding"
	"github.com/berth-project/berth/internal/admission/clusterset"
	"github.com/berth-project/berth/internal/admission/managedcluster"
	"github.com/berth-project/berth/internal/admission/placement"
)

// emptyReader is a hub without objects.
type emptyReader struct{}

func (emptyReader) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (emptyReader) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// fakeChecker grants the permissions whose name has an even length.
type fakeChecker struct{}

func (fakeChecker) Allowed(_ context.Context, _ authenticationv1.UserInfo, attributes authorizationv1.ResourceAttributes) (bool, error) {
	return len(attributes.Name)%2 == 0, nil
}

// handlers returns the webhooks by name.
func handlers(env *celenv.Env) map[string]http.Handler {
	return map[string]http.Handler{
		"binding": binding.Validating(fakeChecker{}),
		"cluster": managedcluster.Validating(fakeChecker{}, emptyReader{}, emptyReader{}),
		"cluster default": managedcluster.Mutating(fakeChecker{}, clocktesting.NewFakePassiveClock(
			time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)), managedcluster.JoinOptions{}),
		"placement": placement.Validating(env, emptyReader{}, emptyReader{}, placement.Edits{}),
		"set":       clusterset.Validating(emptyReader{}, emptyReader{}, clusterset.Edits{Held: true}),
	}
}

// serve posts a body to a webhook.
func serve(t *testing.T, to http.Handler, body []byte) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	out := httptest.NewRecorder()
	to.ServeHTTP(out, request)
	return out
}

const reviewHead = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":`

// FuzzReview posts any body to every webhook. The response is a review, and a body that cannot be decoded is denied.
func FuzzReview(f *testing.F) {
	for _, body := range []string{
		"", "{}", "null", "[]", reviewHead + "{}}", reviewHead + "null}", `{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}`,
		reviewHead + `{"uid":"u","operation":"CREATE","object":{"metadata":{"name":"a"}}}}`,
		reviewHead + `{"uid":"u","operation":"DELETE","oldObject":{}}}`,
		reviewHead + `{"uid":"u","operation":"UPDATE","object":{},"oldObject":null}}`,
		reviewHead + `{"uid":"u","operation":"CREATE","subResource":"status","object":{"spec":1}}}`,
	} {
		f.Add([]byte(body))
	}
	serving := handlers(enginetest.Env(f))
	f.Fuzz(func(t *testing.T, body []byte) {
		var sent admissionv1.AdmissionReview
		readable := json.Unmarshal(body, &sent) == nil && sent.Request != nil
		for name, handler := range serving {
			var got admissionv1.AdmissionReview
			if err := json.Unmarshal(serve(t, handler, body).Body.Bytes(), &got); err != nil || got.Response == nil {
				t.Fatalf("%s: no review, but %v: %+v", name, err, got)
			}
			if got.Response.Allowed && !readable {
				t.Errorf("%s allows an undecodable object", name)
			}
			if readable && got.Response.Allowed && sent.Request.Operation != admissionv1.Create && sent.Request.Operation != admissionv1.Update {
				t.Errorf("%s allows the operation %q", name, sent.Request.Operation)
			}
		}
	})
}

// FuzzAdmission replaces any object by any other. Every response has the UID of its request, is the same for the same request, and
// has a reason for a denial. The engine accepts each placement that admission accepts, and patches can be applied.
func FuzzAdmission(f *testing.F) {
	for _, objects := range [][2]string{
		{"", `{}`},
		{`{}`, `{}`},
		{"", `{"metadata":{"name":"c"},"spec":{"taints":[{"key":"gpu","effect":"NoSelect"}]}}`},
		{
			`{"metadata":{"name":"c","labels":{"cluster.open-cluster-management.io/clusterset":"a"}}}`,
			`{"metadata":{"name":"c","labels":{"cluster.open-cluster-management.io/clusterset":"bc"}}}`,
		},
		{
			`{"metadata":{"name":"c"}}`,
			`{"metadata":{"name":"c"},"spec":{"hubAcceptsClient":true,"leaseDurationSeconds":2147483647,"managedClusterClientConfigs":[{"url":"https://"}]}}`,
		},
		{"", `{"metadata":{"name":"dev"},"spec":{"clusterSet":"dev"}}`},
		{"", `{"metadata":{"name":"dev","finalizers":["a/b"]},"spec":{"clusterSet":"prod"}}`},
		{
			"",
			`{"metadata":{"name":"s"},"spec":{"clusterSelector":{"selectorType":"ExclusiveLabel","exclusiveLabel":{"key":"info.open-cluster-management.io/a","value":"b"}}}}`,
		},
		{
			"",
			`{"metadata":{"name":"s"},"spec":{"clusterSelector":{"selectorType":"LabelSelector","labelSelector":{"matchExpressions":[{"key":"a","operator":"In"}]}}}}`,
		},
		{
			"",
			`{"metadata":{"name":"p","namespace":"n"},"spec":{"numberOfClusters":-1,"predicates":[{"requiredClusterSelector":{"celSelector":{"celExpressions":["1"]}}}]}}`,
		},
		{
			`{"spec":{"prioritizerPolicy":{"mode":"Loose"}}}`,
			`{"spec":{"prioritizerPolicy":{"mode":"Exact","configurations":[{"weight":3,"scoreCoordinate":{"builtIn":"Steady"}}]}}}`,
		},
		{
			"",
			`{"spec":{"decisionStrategy":{"groupStrategy":{"clustersPerDecisionGroup":"25%","decisionGroups":[{"groupName":"a","groupClusterSelector":{}}]}}}}`,
		},
		{
			"",
			`{"spec":{"disruptionPolicy":{"maxUnavailable":"10%","interval":"1h"},"tolerations":[{"operator":"Exists","tolerationSeconds":-1}],"tiers":[{"name":"a"}]}}`,
		},
		{
			"",
			`{"spec":{"spreadPolicy":{"spreadConstraints":[{"topologyKey":"a","topologyKeyType":"Claim","maxSkew":2147483647}]},"sortBy":"Score","scoreRateLimit":"1h"}}`,
		},
	} {
		for _, operation := range []string{"CREATE", "UPDATE"} {
			f.Add(operation, "", []byte(objects[0]), []byte(objects[1]))
		}
	}
	env := enginetest.Env(f)
	serving := handlers(env)
	f.Fuzz(func(t *testing.T, operation, subresource string, old, after []byte) {
		for _, object := range [][]byte{old, after} {
			if len(object) > 0 && (!json.Valid(object) || bytes.TrimSpace(object)[0] != '{') {
				t.Skip("the API server has no such object")
			}
		}
		request := &admissionv1.AdmissionRequest{
			UID: "the-uid", Operation: admissionv1.Operation(operation), SubResource: subresource,
			UserInfo: authenticationv1.UserInfo{Username: "jane"},
			Object:   runtime.RawExtension{Raw: after}, OldObject: runtime.RawExtension{Raw: old},
		}
		body, err := json.Marshal(admissionv1.AdmissionReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: request,
		})
		if err != nil {
			t.Skip("no request")
		}
		for name, handler := range serving {
			response := serve(t, handler, body)
			if again := serve(t, handler, body); again.Body.String() != response.Body.String() {
				t.Errorf("%s responds %s, then %s", name, response.Body, again.Body)
			}
			var got admissionv1.AdmissionReview
			if err := json.Unmarshal(response.Body.Bytes(), &got); err != nil || got.Response == nil || got.Response.UID != "the-uid" {
				t.Fatalf("%s: no response to this request: %v: %s", name, err, response.Body)
			}
			checkResponse(t, name, got.Response)
			if name == "placement" && got.Response.Allowed && operation == "CREATE" {
				engineAccepts(t, env, after)
			}
		}
	})
}

func checkResponse(t *testing.T, name string, got *admissionv1.AdmissionResponse) {
	t.Helper()
	if !got.Allowed {
		if got.Result == nil || got.Result.Message == "" || got.Result.Code < 400 || len(got.Patch) > 0 {
			t.Errorf("%s refuses without a reason: %+v", name, got)
		}
		return
	}
	if len(got.Patch) > 0 && (!strings.HasSuffix(name, "default") || !json.Valid(got.Patch)) {
		t.Errorf("%s patches %s", name, got.Patch)
	}
}

// engineAccepts checks that the engine compiles a placement that admission accepts.
func engineAccepts(t *testing.T, env *celenv.Env, stored []byte) {
	t.Helper()
	object := &clusterv1beta1.Placement{}
	if err := json.Unmarshal(stored, object); err != nil {
		t.Fatalf("admitted, and cannot be decoded: %v", err)
	}
	if _, faults := program.Compile(object, env); len(faults) > 0 {
		t.Errorf("admitted, and has errors: %v", faults)
	}
}
