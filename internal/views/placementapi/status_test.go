package placementapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	clocktesting "k8s.io/utils/clock/testing"

	viewv1 "github.com/berth-project/berth/api/view/v1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/internal/placement/history"
	"github.com/berth-project/berth/internal/status"
	"github.com/berth-project/berth/internal/views/placementapi"
)

// TestStatusNeedsThePermissionForMetrics reads how the manager is, as a user who may get /metrics and as one who may get everything else.
func TestStatusNeedsThePermissionForMetrics(t *testing.T) {
	kinds := runtime.NewScheme()
	metav1.AddToGroupVersion(kinds, schema.GroupVersion{Version: "v1"})
	kinds.AddUnversionedTypes(schema.GroupVersion{Version: "v1"}, &metav1.Status{})
	handler := placementapi.New(placementapi.Options{
		Record: history.New(history.Options{Clock: clocktesting.NewFakeClock(time.Now()), Env: enginetest.Env(t)}), Leader: noLeader{},
		Serializer: serializer.NewCodecFactory(kinds).WithoutConversion(),
		Status: func() status.Report {
			return status.Report{Kind: status.Kind, Replica: "berth-1_x"}
		},
		Authorizer: authorizer.AuthorizerFunc(func(_ context.Context, of authorizer.Attributes) (authorizer.Decision, string, error) {
			metrics := !of.IsResourceRequest() && of.GetPath() == "/metrics" && of.GetVerb() == "get"
			if metrics == (of.GetUser().GetName() == "prometheus") {
				return authorizer.DecisionAllow, "", nil
			}
			return authorizer.DecisionNoOpinion, "", nil
		}),
	})
	serving := handler.Wrap(http.NotFoundHandler())
	for name, tc := range map[string]struct {
		user, verb, method string
		code               int
	}{
		"with the permission": {"prometheus", "get", http.MethodGet, http.StatusOK},
		"with all other ones": {"jane", "get", http.MethodGet, http.StatusForbidden},
		"a write":             {"prometheus", "delete", http.MethodDelete, http.StatusMethodNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			info := &request.RequestInfo{
				IsResourceRequest: true, Verb: tc.verb, APIGroup: viewv1.GroupName, APIVersion: viewv1.SchemeGroupVersion.Version,
				Resource: "managers", Name: "leader", Parts: []string{"managers", "leader"},
			}
			sent := httptest.NewRequestWithContext(t.Context(), tc.method, "/", http.NoBody)
			ctx := request.WithUser(request.WithRequestInfo(sent.Context(), info), &user.DefaultInfo{Name: tc.user})
			got := httptest.NewRecorder()
			serving.ServeHTTP(got, sent.WithContext(ctx))
			if got.Code != tc.code || strings.Contains(got.Body.String(), "berth-1_x") != (tc.code == http.StatusOK) {
				t.Errorf("status %d, want %d: %s", got.Code, tc.code, got.Body)
			}
		})
	}
}
