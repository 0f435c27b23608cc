package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestExplanationShowsOnlyVisibleClusters explains as a user who may get the placement and one cluster. The explanation
// contains the number of all other clusters, and no name of them.
func TestExplanationShowsOnlyVisibleClusters(t *testing.T) {
	m := sharedManager(t)
	f := newFleet(t, 3)
	f.awaitSeen(m)
	f.placement("p", kit.Number(1), within("a", "b", "c"))
	f.awaitExplained("p", f.names(0)...)
	f.taint(0)
	f.awaitExplained("p", f.names(1)...)
	jane := newAPIUser(t, shared.ConfigFor(t, "jane-"+f.namespace))

	_, err := get[explain.Explanation](t.Context(), jane, f.namespace, "p", "explanation")
	code, message := refused(t, err)
	want := `placements.cluster.open-cluster-management.io "p" is forbidden: User "jane-` + f.namespace +
		`" cannot get resource "placements" in API group "cluster.open-cluster-management.io" in the namespace "` + f.namespace + `"`
	if code != http.StatusForbidden || message != want {
		t.Errorf("refused with %d %q, want %q", code, message, want)
	}

	f.grant("jane-"+f.namespace, f.namespace, mayOn([]string{"get"}, "placements"))
	f.grant("jane-"+f.namespace, "", mayOn([]string{"get"}, "managedclusters", f.name(2)))
	var got explain.Explanation
	kit.Await(t, "one cluster is visible", func(ctx context.Context) error {
		var err error
		if got, err = get[explain.Explanation](ctx, jane, f.namespace, "p", "explanation"); err == nil && len(got.Clusters) != 1 {
			err = fmt.Errorf("%w: %d visible clusters", errNotYet, len(got.Clusters))
		}
		return err
	})
	past := f.awaitHistory(jane, "p", 2)
	text := kit.Must(json.Marshal([]any{got, past})).In(t)
	for _, hidden := range f.names(0, 1) {
		if strings.Contains(string(text), hidden) {
			t.Errorf("%s is named: %s", hidden, text)
		}
	}
	if got.Clusters[0].Name != f.name(2) || got.Hidden < 2 || got.Selected != 1 || got.Clusters[0].Outranked == nil {
		t.Errorf("explained: %+v", got)
	}
	if past.Changes[0].Hidden != 2 || len(past.Changes[0].Moves) != 0 {
		t.Errorf("history: %+v", past)
	}
	_, err = get[explain.Explanation](t.Context(), jane, f.namespace, "p", "explanation", "cluster", f.name(1))
	if code, _ := refused(t, err); code != http.StatusNotFound {
		t.Errorf("an invisible cluster: %d", code)
	}
}

// TestRefusals checks that refusals have the messages of an API server.
func TestRefusals(t *testing.T) {
	m := sharedManager(t)
	f := newFleet(t, 1)
	f.awaitSeen(m)
	f.placement("p")
	f.awaitExplained("p", f.names(0)...)
	for sentence, test := range map[string]struct {
		placement, part string
		parameters      []string
		code            int
		message         string
	}{
		"no such placement":          {"q", "explanation", nil, 404, `placements.cluster.open-cluster-management.io "q" not found`},
		"no such placement, history": {"q", "history", nil, 404, `placements.cluster.open-cluster-management.io "q" not found`},
		"no such cluster": {
			"p", "explanation",
			[]string{"cluster", "x"},
			404,
			`managedclusters.cluster.open-cluster-management.io "x" not found`,
		},
		"a fix without a cluster": {
			"p", "explanation",
			[]string{"fix", "true"},
			400,
			"parameter fix: set the parameter cluster too, to the cluster to select",
		},
		"an invalid fix": {
			"p", "explanation",
			[]string{"cluster", f.name(0), "fix", "x"},
			400,
			`parameter fix: "x" is not true or false`,
		},
		"an invalid time": {
			"p", "history",
			[]string{"since", "x"},
			400,
			`parameter since: "x" is not a time such as 2026-01-31T10:00:00Z`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := get[map[string]any](t.Context(), newAdmin(t), f.namespace, test.placement, test.part, test.parameters...)
			if code, message := refused(t, err); code != test.code || message != test.message {
				t.Errorf("refused with %d %q, want %d %q", code, message, test.code, test.message)
			}
		})
	}
	anonymous := newAPIUser(t, rest.AnonymousClientConfig(shared.Config()))
	_, err := get[explain.Explanation](t.Context(), anonymous, f.namespace, "p", "explanation")
	if code, _ := refused(t, err); code != http.StatusUnauthorized && code != http.StatusForbidden {
		t.Errorf("the response to an anonymous user is %d", code)
	}
}

// TestHistoryNamesCauses makes changes, and reads the moved clusters, the reasons and the causes.
func TestHistoryNamesCauses(t *testing.T) {
	m := sharedManager(t)
	f := newFleet(t, 3)
	f.awaitSeen(m)
	f.placement("p", kit.Number(1))
	f.awaitExplained("p", f.names(0)...)
	f.taint(0)
	f.awaitExplained("p", f.names(1)...)
	got := f.awaitHistory(newAdmin(t), "p", 2)
	if got.Kind != explain.HistoryKind || got.APIVersion != "view.cluster.open-cluster-management.io/v1" {
		t.Fatalf("history: %+v", got)
	}
	change := got.Changes[0]
	if diff := cmp.Diff([]explain.Cause{{Kind: "ManagedCluster", Name: f.name(0), What: "taints changed"}}, change.Causes); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	want := []explain.Move{
		{
			Cluster: f.name(0), Before: &explain.State{Verdict: "Selected"},
			After: &explain.State{Verdict: "Tainted", Why: "taint gpu=true:NoSelect"},
		},
		{
			Cluster: f.name(1), Added: true, Before: &explain.State{Verdict: "Beaten", Why: "others rank higher"},
			After: &explain.State{Verdict: "Selected"},
		},
	}
	if diff := cmp.Diff(want, change.Moves); diff != "" {
		t.Errorf("moves (-want +got):\n%s", diff)
	}
	one, err := get[explain.History](t.Context(), newAdmin(t), f.namespace, "p", "history", "cluster", f.name(1))
	if err != nil || len(one.Changes) != 1 || len(one.Changes[0].Moves) != 1 {
		t.Errorf("the history of one cluster: %+v, %v", one, err)
	}
	none, err := get[explain.History](t.Context(), newAdmin(t), f.namespace, "p", "history", "since", "2100-01-01T00:00:00Z")
	if err != nil || len(none.Changes) != 0 {
		t.Errorf("the history since later: %+v, %v", none, err)
	}
}
