package explain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// apiUser sends requests to the API server as a user.
type apiUser struct {
	t      *testing.T
	client rest.Interface
}

func newAPIUser(t *testing.T, config *rest.Config) apiUser {
	t.Helper()
	out := rest.CopyConfig(config)
	out.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client := kit.Must(rest.UnversionedRESTClientFor(out)).In(t)
	return apiUser{t, client}
}

func newAdmin(t *testing.T) apiUser {
	t.Helper()
	return newAPIUser(t, shared.Config())
}

// get reads a part of a placement, with parameters given as name, value.
func get[T any](ctx context.Context, a apiUser, namespace, placement, part string, parameters ...string) (out T, err error) {
	request := a.client.Get().AbsPath("/apis/view.cluster.open-cluster-management.io/v1/namespaces", namespace, "placements", placement, part)
	for i := 0; i < len(parameters); i += 2 {
		request.Param(parameters[i], parameters[i+1])
	}
	answer := request.Do(ctx)
	if err := answer.Error(); err != nil { // with the message of the server
		return out, err
	}
	raw, err := answer.Raw()
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(raw, &out)
}

// awaitSeen waits until the manager has read the clusters and the binding of the fleet: it keeps what it selects among the first ones. It
// tries a placement that is not stored.
func (f *fleet) awaitSeen(m *manager) {
	f.t.Helper()
	to := rest.CopyConfig(shared.Config())
	to.Host, to.CAData, to.CAFile, to.Insecure = "https://"+m.views, nil, "", true
	root := kit.NewRequester(f.t, to, "root")
	f.Await("the manager has read the clusters", func(ctx context.Context) error {
		got, err := root.Send(ctx, http.MethodPost, "/debug/placements/", "application/json", f.unsaved("seen"))
		if err != nil {
			return err
		}
		for number := range f.clusters {
			if !strings.Contains(got.Text, f.name(number)) {
				return fmt.Errorf("%w: cluster %d is not in %d %s", errNotYet, number, got.Code, got.Text)
			}
		}
		return nil
	})
}

// awaitExplained waits until the clusters of a placement are decided, stored and explained, for its latest generation.
func (f *fleet) awaitExplained(placement string, want ...string) explain.Explanation {
	f.t.Helper()
	var out explain.Explanation
	f.Await("the clusters of a placement are decided, stored and explained, for its latest generation", func(ctx context.Context) error {
		var err error
		if out, err = get[explain.Explanation](ctx, newAdmin(f.t), f.namespace, placement, "explanation"); err != nil {
			return err
		}
		stored, err := f.Selected(ctx, f.namespace, placement)
		switch {
		case err != nil:
			return err
		case out.Stale != "":
			return fmt.Errorf("%w: stale %q", errNotYet, out.Stale)
		case len(out.Clusters) < f.clusters: // the manager has not read all of them
			return fmt.Errorf("%w: %d of %d clusters are explained", errNotYet, len(out.Clusters), f.clusters)
		case !slices.Equal(stored, want) || !slices.Equal(out.Chosen(), want):
			return fmt.Errorf("%w: stored %v, explained %v, want %v", errNotYet, stored, out.Chosen(), want)
		}
		return nil
	})
	return out
}

// awaitHistory waits until the history of a placement has a number of changes. The last one follows the slices that it is about.
func (f *fleet) awaitHistory(of apiUser, placement string, changes int) explain.History {
	f.t.Helper()
	var out explain.History
	f.Await("the history has its changes", func(ctx context.Context) error {
		var err error
		if out, err = get[explain.History](ctx, of, f.namespace, placement, "history"); err == nil && len(out.Changes) != changes {
			err = fmt.Errorf("%w: %d changes, want %d: %+v", errNotYet, len(out.Changes), changes, out)
		}
		return err
	})
	return out
}

// verdicts returns "verdict: why" of each cluster.
func verdicts(of explain.Explanation) map[string]string {
	out := map[string]string{}
	for _, cluster := range of.Clusters {
		out[cluster.Name] = strings.TrimSuffix(cluster.Verdict+": "+cluster.Why, ": ")
	}
	return out
}

var errNotYet = errors.New("not yet")

// refused returns the code and the message of a refusal, and fails the test without a refusal.
func refused(t *testing.T, err error) (code int, message string) {
	t.Helper()
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		t.Fatalf("no refusal but %v", err)
	}
	return int(status.Status().Code), status.Status().Message
}

// sendToManager sends a request to the manager itself.
func sendToManager(t *testing.T, m *manager, config *rest.Config, method, path, body string) (code int, header http.Header, data []byte) {
	t.Helper()
	to := rest.CopyConfig(config)
	to.CAData, to.CAFile, to.Insecure = nil, "", true // the test is about the client, not the server
	client := kit.Must(rest.HTTPClientFor(to)).In(t)
	request := kit.Must(http.NewRequestWithContext(t.Context(), method, "https://"+m.views+path, strings.NewReader(body))).In(t)
	answer, err := client.Do(request)
	kit.NoError(t, err)
	defer answer.Body.Close()
	data = kit.Must(io.ReadAll(answer.Body)).In(t)
	return answer.StatusCode, answer.Header, data
}
