package placementapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	clocktesting "k8s.io/utils/clock/testing"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	viewv1 "github.com/berth-project/berth/api/view/v1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/internal/placement/history"
	"github.com/berth-project/berth/internal/placement/live"
	"github.com/berth-project/berth/internal/views/leader"
	"github.com/berth-project/berth/internal/views/placementapi"
	"github.com/berth-project/berth/internal/views/viewcache"
)

// noLeader is the Leader of a single replica: it forwards nothing.
type noLeader struct{}

// Forward returns ErrNotFound.
func (noLeader) Forward(http.ResponseWriter, *http.Request, user.Info) error {
	return leader.ErrNotFound
}

// Caller returns the sender.
func (noLeader) Caller(_ *http.Request, sender user.Info) (user.Info, bool, error) {
	return sender, false, nil
}

// newHandler returns a handler for a fleet of two clusters and one placement, ns/p. jane has permissions in the namespace ns.
func newHandler(f *testing.F) *placementapi.Handler {
	f.Helper()
	clock, env := clocktesting.NewFakeClock(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)), enginetest.Env(f)
	recorded := history.New(history.Options{Clock: clock, Env: env})
	known, stored := live.New(env, clock, recorded.AddCause, recorded.AddCause)
	known.SetSet(nil, enginetest.Set("sea").Obj())
	known.SetBinding(&clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "sea"}})
	known.SetCluster(enginetest.Cluster("a").In("sea").Obj())
	known.SetCluster(enginetest.Cluster("secret").In("land").Obj())
	placement := enginetest.Placement("ns", "p").Obj()
	placement.UID, placement.ResourceVersion, placement.Generation = "uid", "1", 1
	stored.SetPlacement(placement)
	stored.Ready()
	recorded.SetLeader(stored)
	views := viewcache.New(clock, 7)
	kinds := runtime.NewScheme()
	metav1.AddToGroupVersion(kinds, viewv1.SchemeGroupVersion)
	kinds.AddUnversionedTypes(viewv1.SchemeGroupVersion, &metav1.Status{})
	return placementapi.New(placementapi.Options{
		Record: recorded, Views: views, Leader: noLeader{}, Serializer: serializer.NewCodecFactory(kinds).WithoutConversion(),
		Authorizer: authorizer.AuthorizerFunc(func(_ context.Context, of authorizer.Attributes) (authorizer.Decision, string, error) {
			if of.GetUser().GetName() == "jane" && of.GetNamespace() == "ns" {
				return authorizer.DecisionAllow, "", nil
			}
			return authorizer.DecisionNoOpinion, "", nil
		}),
	})
}

// checkAnswer checks that a response is JSON and no server error, and that it names no invisible cluster that the request did not
// name.
func checkAnswer(t *testing.T, got *httptest.ResponseRecorder, sent string) {
	t.Helper()
	if got.Code >= http.StatusInternalServerError || !json.Valid(got.Body.Bytes()) {
		t.Errorf("response %d: %s", got.Code, got.Body)
	}
	if strings.Contains(got.Body.String(), "secret") && !strings.Contains(sent, "secret") {
		t.Errorf("the response names an invisible cluster: %s", got.Body)
	}
}

// FuzzQuery reads explanations and histories with any query, in namespaces with and without permission.
func FuzzQuery(f *testing.F) {
	for _, query := range []string{
		"", "cluster=a", "cluster=secret", "cluster=a&fix=true", "fix=true", "fix=maybe&cluster=a", "since=2026-01-31T10:00:00Z",
		"since=yesterday", "since=9999-12-31T23:59:59Z&cluster=%00", "cluster=a&cluster=secret", "a=%zz", ";",
		"cluster=" + strings.Repeat("x", 300),
	} {
		f.Add("explanation", "ns", "p", query)
		f.Add("history", "ns", "p", query)
		f.Add("history", "other", "p", query)
	}
	handler := newHandler(f)
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"next":true}`)) })
	serving := handler.Wrap(next)
	f.Fuzz(func(t *testing.T, subresource, namespace, name, query string) {
		sent := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		sent.URL = &url.URL{Path: "/", RawQuery: query}
		info := &request.RequestInfo{
			IsResourceRequest: true, Verb: "get", APIGroup: viewv1.GroupName, APIVersion: viewv1.SchemeGroupVersion.Version,
			Namespace: namespace, Resource: "placements", Subresource: subresource, Name: name, Parts: []string{"placements", name, subresource},
		}
		ctx := request.WithUser(request.WithRequestInfo(sent.Context(), info), &user.DefaultInfo{Name: "jane"})
		got := httptest.NewRecorder()
		serving.ServeHTTP(got, sent.WithContext(ctx))
		checkAnswer(t, got, query+name)
		passedOn := strings.Contains(got.Body.String(), `"next":true`)
		if got.Code == http.StatusOK && namespace != "ns" && !passedOn {
			t.Errorf("jane got a response about the namespace %q: %s", namespace, got.Body)
		}
	})
}

// FuzzDebug posts any placement to try, and reads any stored one.
func FuzzDebug(f *testing.F) {
	for _, body := range []string{
		"", "{}", "null", `{"metadata":{"namespace":"ns","name":"q"}}`, `{"metadata":{"namespace":"other","name":"q"}}`,
		`{"metadata":{"namespace":"ns","name":"q"},"spec":{"numberOfClusters":-1}}`,
		`{"metadata":{"namespace":"ns","name":"q"},"spec":{"predicates":[{"requiredClusterSelector":{"celSelector":{"celExpressions":["managedCluster.metadata.name == 'secret'"]}}}]}}`,
		`{"metadata":{"namespace":"ns","name":"q","labels":null,"deletionTimestamp":"2026-01-31T10:00:00Z"},"spec":{"clusterSets":["land"]}}`,
	} {
		f.Add(http.MethodPost, "", body)
		f.Add(http.MethodGet, "ns/p", body)
		f.Add(http.MethodPut, "ns/p/x", body)
	}
	serving := newHandler(f).DebugHandler()
	f.Fuzz(func(t *testing.T, method, path, body string) {
		sent := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
		sent.Method, sent.URL = method, &url.URL{Path: placementapi.DebugPath + path}
		got := httptest.NewRecorder()
		serving.ServeHTTP(got, sent.WithContext(request.WithUser(sent.Context(), &user.DefaultInfo{Name: "jane"})))
		checkAnswer(t, got, body+path)
	})
}
