package cli

import (
	"strings"
	"testing"

	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/cli"
)

// TestGracesAreListedAndReleased takes away each kind of right and a label, beside a grace of an hour. A user who may see the object lists
// its grace, and one who may update it ends the grace.
func TestGracesAreListedAndReleased(t *testing.T) {
	t.Setenv("COLUMNS", "400") // no text is wrapped
	first := newFixture(t)
	first.startViewsWith(t, []string{"--withdrawal-grace=1h"})
	for what, tc := range map[string]struct {
		takeAway func(*testing.T, fixture)
		// object and cause are of the hold, with NS for the namespace.
		object, in, cause string
		next              []string
	}{
		"a binding": {
			takeAway: func(t *testing.T, s fixture) { s.client.For(t).MustDelete(kit.Binding(s.namespace, s.namespace)) },
			object:   "managedclustersetbinding/NS", in: " in NS", cause: "ManagedClusterSetBinding NS is gone.",
		},
		"a set": {
			takeAway: func(t *testing.T, s fixture) { s.client.For(t).MustDelete(kit.Set(s.namespace)) },
			object:   "managedclusterset/NS", cause: "ManagedClusterSet NS is gone.",
		},
		"the label of a set": {
			takeAway: func(t *testing.T, s fixture) {
				s.client.For(t).MustMerge(kit.Cluster(s.clusters()[0]),
					`{"metadata":{"labels":{"cluster.open-cluster-management.io/clusterset":null}}}`)
			},
			object: "managedcluster/NS-a", cause: "ManagedCluster NS-a no longer has the label cluster.open-cluster-management.io/clusterset=NS.",
			next: []string{"NS-b"},
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := newFixture(t)
			named := func(text string) string { return strings.ReplaceAll(text, "NS", s.namespace) }
			expect := func(args []string, code int, text string) {
				t.Helper()
				if got := run(t.Context(), args...); got.code != code || !strings.Contains(got.out+got.errOut, text) {
					t.Errorf("%q: %+v, want exit code %d and %q", args, got, code, text)
				}
			}
			s.client.AwaitSelected(s.namespace, s.placement().GetName(), s.clusters()[0])
			tenant := s.tenant(t)
			tc.takeAway(t, s)
			release := []string{"holds", "release", named(tc.object), "--hold", "Grace", "-n", s.namespace, "--reason", "it moved"}
			end := "ends with: kubectl berth holds release " + named(tc.object) + " --hold Grace --reason WHY\n"
			if tc.in != "" {
				end = "ends with: kubectl berth holds release " + named(tc.object) + " -n " + s.namespace + " --reason WHY\n"
			}
			awaitOutput(t, []string{"holds", "-A"}, "hold     Grace\nobject   "+named(tc.object+tc.in)+"\n", "until    ", named(tc.cause), end)
			s.client.AwaitSelected(s.namespace, s.placement().GetName(), s.clusters()[0])
			awaitOutput(t, []string{"explain", "placement", s.placement().GetName(), "-n", s.namespace, "--cluster", s.clusters()[0]},
				"leaves when the grace has ended, unless this comes back as it was: ")
			if tc.in != "" {
				expect([]string{"holds", "-n", s.namespace, "--as", tenant}, cli.ExitOK, named(tc.cause))
				expect([]string{"holds", "-n", first.namespace, "--as", tenant}, cli.ExitRefused, "forbidden")
			}
			expect(append(release, "--as", tenant), cli.ExitRefused, "forbidden")
			expect(release, cli.ExitOK, named(tc.object)+": Grace is released: what was selected by it leaves, by the disruption policies\n")
			var left []string
			for _, name := range tc.next {
				left = append(left, named(name))
			}
			s.client.AwaitSelected(s.namespace, s.placement().GetName(), left...)
			expect(release, cli.ExitRefused, named(tc.object)+" has no grace now: ")
			if got := run(t.Context(), "holds", "-A"); strings.Contains(got.out, named(tc.object)) {
				t.Errorf("the grace has ended and is listed: %+v", got)
			}
		})
	}
}
