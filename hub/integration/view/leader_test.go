//go:build slow

package view

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	viewconfig "github.com/berth-project/berth/config/apiserver"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// createSelectedCluster creates a cluster, and a placement in the namespace default that selects it.
func (o observer) createSelectedCluster(t *testing.T, cluster, placement string) {
	t.Helper()
	for _, object := range []map[string]any{
		{
			"apiVersion": clusterv1.SchemeGroupVersion.String(), "kind": "ManagedCluster", "metadata": map[string]any{"name": cluster},
			"spec": map[string]any{"hubAcceptsClient": true},
		},
		{
			"apiVersion": clusterv1beta2.SchemeGroupVersion.String(), "kind": "ManagedClusterSetBinding",
			"metadata": map[string]any{"name": "global", "namespace": "default"}, "spec": map[string]any{"clusterSet": "global"},
		},
		{
			"apiVersion": clusterv1beta1.SchemeGroupVersion.String(), "kind": "Placement",
			"metadata": map[string]any{"name": placement, "namespace": "default"},
			"spec":     map[string]any{"tolerations": []any{map[string]any{"operator": "Exists"}}},
		},
	} {
		made := &unstructured.Unstructured{Object: object}
		resource := made.GroupVersionKind().GroupVersion().WithResource(strings.ToLower(made.GetKind()) + "s")
		kit.Must(o.Resource(resource).Namespace(made.GetNamespace()).Create(t.Context(), made, metav1.CreateOptions{})).In(t)
	}
}

// getPlacement reads a subresource of a placement in the namespace default from a replica directly, not through the hub.
func (r *replica) getPlacement(ctx context.Context, t *testing.T, config *rest.Config, part string,
	header http.Header,
) (code int, body []byte) {
	t.Helper()
	to := rest.CopyConfig(config)
	to.CAData, to.CAFile, to.Insecure = nil, "", true // the test is about the response, not the server
	client := kit.Must(rest.HTTPClientFor(to)).In(t)
	url := "https://" + r.servers[viewconfig.ServerName] + "/apis/" + setViews.GroupVersion().String() + "/namespaces/default/placements/" +
		part
	request := kit.Must(http.NewRequestWithContext(ctx, http.MethodGet, url, nil)).In(t)
	maps.Copy(request.Header, header)
	response, err := client.Do(request)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer response.Body.Close()
	return response.StatusCode, readAll(t, response)
}

// checkRecorded returns an error unless a replica returns the record of the leader.
func (r *replica) checkRecorded(ctx context.Context, t *testing.T, config *rest.Config, placement string) error {
	t.Helper()
	var run explain.Explanation
	if code, body := r.getPlacement(ctx, t, config, placement+"/explanation", nil); code != http.StatusOK ||
		json.Unmarshal(body, &run) != nil || run.Replayed || run.Selected != 1 {
		return fmt.Errorf("explanation: %d %s", code, body)
	}
	var past explain.History
	if code, body := r.getPlacement(ctx, t, config, placement+"/history", nil); code != http.StatusOK || json.Unmarshal(body, &past) != nil ||
		len(past.Changes) == 0 {
		return fmt.Errorf("history: %d %s", code, body)
	}
	return nil
}

// TestEveryReplicaServesTheRecordOfTheLeader reads from two replicas, and again after the leader was killed.
func TestEveryReplicaServesTheRecordOfTheLeader(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{Manifests: viewconfig.Local()})
	hub.GrantViews(t)
	o := newObserver(t, hub)
	election := hubtest.ManagerOptions{AllowErrors: true, Args: []string{
		"--leader-elect=true", "--leader-elect-lease-duration=10s", "--leader-elect-renew-deadline=8s", "--leader-elect-retry-period=200ms",
	}}
	one, two := startReplica(t, hub, election), startReplica(t, hub, election)
	kit.Await(t, "the replica serves the record of the leader", o.checkAnswers)
	o.createSelectedCluster(t, "c1", "web")
	for _, replica := range []*replica{one, two} {
		kit.Await(t, "the replica serves the record of the leader",
			func(ctx context.Context) error { return replica.checkRecorded(ctx, t, hub.Config(), "web") })
	}

	jane := hub.ConfigFor(t, "jane")
	forged := http.Header{"Berth-Caller": {base64.StdEncoding.EncodeToString([]byte(`{"username":"root","groups":["system:masters"]}`))}}
	for _, replica := range []*replica{one, two} {
		for name, header := range map[string]http.Header{"a user without permissions": nil, "a forged header": forged} {
			if code, body := replica.getPlacement(t.Context(), t, jane, "web/explanation", header); code != http.StatusForbidden ||
				!strings.Contains(string(body), `"jane\"`) && !strings.Contains(string(body), `\"jane\"`) {
				t.Errorf("%s: %d %s, want it denied under the user's own name", name, code, body)
			}
		}
		if code, body := replica.getPlacement(t.Context(), t, hub.Config(), "none/history", nil); code != http.StatusNotFound {
			t.Errorf("no such placement: %d %s", code, body)
		}
	}

	leader, heir := one, two
	if url, err := o.webhookURL(t.Context()); err != nil || strings.Contains(url, two.WebhookAddress) {
		leader, heir = two, one
	}
	leader.Kill()
	kit.Await(t, "the successor serves the history", func(ctx context.Context) error {
		code, body := heir.getPlacement(ctx, t, hub.Config(), "web/history", nil)
		switch code {
		case http.StatusOK:
			return nil
		case http.StatusServiceUnavailable:
			return fmt.Errorf("%d %s", code, body)
		default:
			t.Fatalf("without a leader: %d %s", code, body)
			return nil
		}
	})
}
