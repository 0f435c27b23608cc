//go:build slow

package argocd

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/bridge/argocd"
	"github.com/berth-project/berth/internal/cli"
)

// TestCheck removes one thing after the other that Argo CD needs, and checks that `kubectl berth argo check` names it.
func TestCheck(t *testing.T) {
	a := install(t, 3)
	a.client.MustCreate(a.placement(3))
	a.setUp(t)
	a.awaitFollowed(t, 3)
	if got := a.berth(t, cli.ExitOK, "argo", "check", "-n", a.namespace); got !=
		"Argo CD can follow the decisions: 1 placement, 3 selected clusters.\n" {
		t.Errorf("got %q", got)
	}
	a.client.MustDelete(a.clusterSecret(1))
	var report argocd.Report
	kit.NoError(t, json.Unmarshal([]byte(a.berth(t, cli.ExitUnsatisfied, "argo", "check", "-n", a.namespace, "-o", "json")), &report))
	if diff := cmp.Diff([]string{a.cluster(1)}, report.WithoutSecret); diff != "" || len(report.Steps) != 1 {
		t.Errorf("%+v (-want +got):\n%s", report, diff)
	}
	renamed := a.clusterSecret(1)
	renamed.Name = "cluster-1.example.com-4711"
	renamed.Labels["apps.open-cluster-management.io/cluster-name"] = a.cluster(1)
	a.client.MustCreate(renamed)
	a.berth(t, cli.ExitOK, "argo", "check", "-n", a.namespace)
}

// secretReader records what is requested and read of Secrets.
type secretReader struct {
	next     http.RoundTripper
	accepted []string
	bodies   []string
}

func (r *secretReader) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err != nil || !strings.Contains(request.URL.Path, "/secrets") {
		return response, err
	}
	r.accepted = append(r.accepted, request.Header.Get("Accept"))
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	r.bodies = append(r.bodies, string(body))
	response.Body = io.NopCloser(strings.NewReader(string(body)))
	return response, nil
}

// TestCheckReadsNoSecret checks on the wire that the metadata of Secrets is read, and none of their values.
func TestCheckReadsNoSecret(t *testing.T) {
	a := install(t, 3)
	a.client.MustCreate(a.placement(3))
	a.setUp(t)
	a.awaitFollowed(t, 3)
	reader := &secretReader{}
	config := shared.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		reader.next = next
		return reader
	})
	config.ContentConfig = rest.ContentConfig{}
	hub := kit.Must(argocd.NewClient(config)).In(t)
	kit.Must(argocd.Check(t.Context(), hub, argocd.Options{Namespace: a.namespace, ServiceAccount: account})).In(t)
	if len(reader.bodies) == 0 {
		t.Fatal("no Secret was read")
	}
	for i, body := range reader.bodies {
		if !strings.Contains(reader.accepted[i], "as=PartialObjectMetadataList") || strings.Contains(body, "example.com") ||
			strings.Contains(body, `"data"`) {
			t.Errorf("a request for %q read:\n%s", reader.accepted[i], body)
		}
	}
}
