package cli

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/cli"
)

// startViews starts a manager that serves the views and runs more controllers. The hub forwards requests to it until the test ends.
func (f fixture) startViews(t *testing.T, more ...string) {
	t.Helper()
	f.startViewsWith(t, nil, more...)
}

// startViewsWith does what startViews does, with more arguments of the manager.
func (f fixture) startViewsWith(t *testing.T, args []string, more ...string) {
	t.Helper()
	shared.GrantViews(t)
	shared.CreateViewService(t)
	t.Cleanup(func() { // the manager creates the registration, and is stopped before the cleanup
		entry := &unstructured.Unstructured{}
		entry.SetAPIVersion("apiregistration.k8s.io/v1")
		entry.SetKind("APIService")
		entry.SetName("v1.view.cluster.open-cluster-management.io")
		if err := f.client.Delete(context.WithoutCancel(t.Context()), entry); err != nil {
			t.Error(err)
		}
	})
	address := hubtest.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	hubtest.StartManager(t, shared, hubtest.ManagerOptions{
		AllowErrors: true, // the API server sends requests before the manager has read the CA for their client certificates
		Args: append([]string{
			"--controllers=" + strings.Join(append([]string{"placement", "views"}, more...), ","),
			"--view-bind-address=" + address, "--view-service-port=" + port,
		}, args...),
	})
}

// waitExplained waits until the placement has selected a cluster other than the given one, and the manager explains it. It returns the
// selected cluster and the other cluster of the fixture.
func (f fixture) waitExplained(t *testing.T, other string) (chosen, left string) {
	t.Helper()
	kit.Await(t, "the placement has selected a cluster other than the given one, and the manager explains it",
		func(ctx context.Context) error {
			var list clusterv1beta1.PlacementDecisionList
			if err := f.client.List(ctx, &list, client.InNamespace(f.namespace)); err != nil {
				return err
			}
			if len(list.Items) != 1 || len(list.Items[0].Status.Decisions) != 1 {
				return fmt.Errorf("%w: decisions %+v", errNotYet, list.Items)
			}
			chosen = list.Items[0].Status.Decisions[0].ClusterName
			explained := run(ctx, "explain", "placement", "web", "-n", f.namespace)
			if chosen == other || explained.code != cli.ExitOK || strings.Contains(explained.out, "Stale") ||
				!strings.Contains(explained.out, chosen) {
				return fmt.Errorf("%w: %s is stored, %+v", errNotYet, chosen, explained)
			}
			return nil
		})
	return chosen, f.clusters()[1-slices.Index(f.clusters(), chosen)]
}

// commandCase is a command line, its exit code, and parts of its output.
type commandCase struct {
	args []string
	code int
	want []string
}

func (c commandCase) check(t *testing.T) {
	t.Helper()
	got := run(t.Context(), c.args...)
	output, silent := got.out, got.errOut
	if c.code == cli.ExitRefused {
		output, silent = silent, output
	}
	if got.code != c.code || silent != "" {
		t.Errorf("got %+v, want exit code %d", got, c.code)
	}
	for _, want := range c.want {
		if !strings.Contains(output, want) {
			t.Errorf("%q is not in\n%s", want, output)
		}
	}
}

// TestExplain explains a placement as the administrator and as a user without a role.
func TestExplain(t *testing.T) {
	s := newFixture(t)
	args := func(more ...string) []string {
		return append([]string{"explain", "placement", "web", "-n", s.namespace}, more...)
	}
	const noViews = ": no manager serves explanations on this hub: start the manager with its views, or read files with -f"
	commandCase{args(), cli.ExitRefused, []string{"explaining " + s.namespace + "/web" + noViews}}.check(t)

	s.startViews(t)
	chosen, left := s.waitExplained(t, "")
	var all, one explain.Explanation
	decode(t, run(t.Context(), args("-o", "json")...), &all)
	if diff := cmp.Diff([]string{chosen}, all.Chosen()); diff != "" || all.Kind != explain.Kind || all.Selected != 1 {
		t.Errorf("explained %+v; chosen (-stored +explained):\n%s", all, diff)
	}
	decode(t, run(t.Context(), args("-o", "json", "--cluster", left)...), &one)
	if len(one.Clusters) != 1 || one.Clusters[0].Name != left || one.Clusters[0].Fix == nil {
		t.Errorf("one cluster: %+v", one)
	}
	doing := "explaining " + s.namespace + "/"
	for name, q := range map[string]commandCase{
		"a summary": {args(), cli.ExitOK, []string{
			s.namespace + "/web: satisfied, 1 of 1 selected (AllDecisionsScheduled)", "Selected  1  " + chosen, "Beaten    1  ", left,
		}},
		"a selected cluster": {
			args("--cluster", chosen), cli.ExitOK,
			[]string{chosen + " in " + s.namespace + "/web: Selected", "rank         1"},
		},
		"a cluster that is not selected, and the fix": {args("--cluster", left), cli.ExitOK, []string{
			left + " in " + s.namespace + "/web: Beaten", "  sets         " + s.namespace, "  fix          ",
		}},
		"no such placement": {
			[]string{"explain", "placement", "nothing", "-n", s.namespace},
			cli.ExitRefused,
			[]string{doing + `nothing: placements.cluster.open-cluster-management.io "nothing" not found`},
		},
		"no such cluster": {
			args("--cluster", "missing"), cli.ExitRefused, []string{doing +
				`web: managedclusters.cluster.open-cluster-management.io "missing" not found`},
		},
		"a user without a role": {
			args("--as", "no-role"), cli.ExitRefused,
			[]string{doing + "web: the right to get this placement is missing; ask for a role that gives it: ", `User "no-role" cannot get`},
		},
	} {
		t.Run(name, q.check)
	}
}

// TestHistory taints the selected cluster. The history has the added and removed clusters, and the cause.
func TestHistory(t *testing.T) {
	s := newFixture(t)
	s.startViews(t)
	chosen, left := s.waitExplained(t, "")
	taint := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"taints":[{"key":"gpu","value":"true","effect":"NoSelect"}]}}`))
	s.client.MustPatch(kit.Cluster(chosen), taint)
	s.waitExplained(t, chosen)
	args := func(more ...string) []string {
		return append([]string{"history", "placement", "web", "-n", s.namespace}, more...)
	}
	const came, went = "added, was Beaten: others rank higher", "removed, Tainted: taint gpu=true:NoSelect"
	cause := "ManagedCluster " + chosen + ": taints changed"
	awaitOutput(t, args(), came, went, cause) // the history follows the decision that it is about
	for name, q := range map[string]commandCase{
		"all":           {args(), cli.ExitOK, []string{chosen, left, came, went, cause}},
		"the last hour": {args("--since", "1h"), cli.ExitOK, []string{came, went, cause}},
		"a time in the future": {
			args("--since", "2100-01-01T00:00:00Z"), cli.ExitOK,
			[]string{"No change of placement " + s.namespace + "/web is known since "},
		},
		"an invalid time": {
			args("--since", "tea"), cli.ExitRefused,
			[]string{`--since "tea" is neither a length such as 1h nor an instant`},
		},
		"a missing placement": {
			[]string{"history", "placement", "x", "-n", s.namespace},
			cli.ExitRefused,
			[]string{"reading the history of " + s.namespace + "/x: ", `"x" not found`},
		},
		"a user without a role": {args("--as", "no-role"), cli.ExitRefused, []string{"the right to get this placement is missing"}},
	} {
		t.Run(name, q.check)
	}
	var one explain.History
	decode(t, run(t.Context(), args("--cluster", left, "-o", "json")...), &one)
	if len(one.Changes) != 1 || len(one.Changes[0].Moves) != 1 || one.Changes[0].Moves[0].Cluster != left || !one.Changes[0].Moves[0].Added {
		t.Errorf("the history of %s: %+v", left, one)
	}
}

// TestDiff tries changes of the hub. The exit code shows whether a decision would change.
func TestDiff(t *testing.T) {
	hubtest.StartManager(t, shared, hubtest.ManagerOptions{})
	s := newFixture(t)
	s.waitDecided(t)
	var groups struct{ Groups []struct{ Clusters []string } }
	decode(t, run(t.Context(), "get", "groups", "web", "-n", s.namespace, "-o", "json"), &groups)
	chosen := groups.Groups[0].Clusters[0]
	left := s.clusters()[1-slices.Index(s.clusters(), chosen)]
	for name, q := range map[string]commandCase{
		"cordon the selected cluster": {[]string{"diff", "--cordon", chosen}, cli.ExitOK, []string{"Nothing moves."}},
		"drain the selected cluster": {
			[]string{"diff", "--drain", "site=" + chosen},
			cli.ExitUnsatisfied,
			[]string{s.namespace + "/web", chosen, left, "Tainted"},
		},
		"drain the other cluster":     {[]string{"diff", "--drain", "site=" + left}, cli.ExitOK, []string{"Nothing moves."}},
		"remove the selected cluster": {[]string{"diff", "--remove", chosen}, cli.ExitUnsatisfied, []string{s.namespace + "/web", chosen, left}},
		"remove the other cluster":    {[]string{"diff", "--remove", left}, cli.ExitOK, []string{"Nothing moves."}},
		"remove a missing cluster":    {[]string{"diff", "--remove", "missing"}, cli.ExitRefused, []string{"missing"}},
		"a user without a role":       {[]string{"diff", "--remove", chosen, "--as", "no-role"}, cli.ExitRefused, []string{"the right to list"}},
	} {
		t.Run(name, q.check)
	}
	if got := run(t.Context(), "get", "groups", "web", "-n", s.namespace, "-o", "json"); !strings.Contains(got.out, chosen) {
		t.Errorf("something was written: %+v", got)
	}
}
