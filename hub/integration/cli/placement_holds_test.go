package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/cli"
)

// TestHeldEditIsListedAndReleased misspells a label in a placement that has clusters.
func TestHeldEditIsListedAndReleased(t *testing.T) {
	t.Setenv("COLUMNS", "400") // no text is wrapped
	s := newFixture(t)
	hubtest.StartManager(t, shared, hubtest.ManagerOptions{Args: []string{"--emptying-edits=hold"}})
	name := s.placement().GetName()
	s.client.AwaitSelected(s.namespace, name, s.clusters()[0])
	list, release := []string{"holds", "-n", s.namespace}, []string{
		"holds", "release", "placement/" + name, "-n", s.namespace, "--reason",
		"it moved",
	}
	expect := func(args []string, code int, text string) {
		t.Helper()
		if got := run(t.Context(), args...); got.code != code || !strings.Contains(got.out+got.errOut, text) {
			t.Errorf("%q: %+v, want exit code %d and %q", args, got, code, text)
		}
	}
	expect(release, cli.ExitRefused, "nothing of the placement "+s.namespace+"/"+name+" is held: ")
	s.client.MustMerge(kit.Placement(s.namespace, name),
		`{"spec":{"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchLabels":{"sitee":"x"}}}}]}}`)
	awaitOutput(t, list, "hold     Reference", `no cluster in reach has the label "sitee" (2 have "site")`)
	s.client.AwaitSelected(s.namespace, name, s.clusters()[0])
	expect(append(release, "--hold", "Reference"), cli.ExitOK, "placement/"+name+
		": Reference is released: generation 2 of its spec is followed\n")
	awaitOutput(t, list, "hold     Edit", "object   placement/"+name+" in "+s.namespace, "leaves none of 1 selected ManagedClusters",
		"ends with: kubectl berth holds release placement/"+name+" -n "+s.namespace+" --reason WHY\n")
	s.client.AwaitSelected(s.namespace, name, s.clusters()[0])
	expect(append(release, "--hold", "Breach"), cli.ExitRefused, "nothing of the placement "+s.namespace+"/"+name+" is held by Breach: ")
	expect(release, cli.ExitOK, "placement/"+name+": Edit is released: its clusters leave by generation 2 of its spec\n")
	s.client.AwaitSelected(s.namespace, name)
	kit.Await(t, "no hold is listed", func(ctx context.Context) error { // the slices are written before the status
		if got := run(ctx, list...); got.code != cli.ExitOK || !strings.Contains(got.out+got.errOut, "nothing is held back\n") {
			return fmt.Errorf("%w: %+v", errNotYet, got)
		}
		return nil
	})
}

// TestRevoke withdraws each kind of right, beside a grace of an hour.
func TestRevoke(t *testing.T) {
	newFixture(t).startViewsWith(t, []string{"--withdrawal-grace=1h"})
	for what, args := range map[string]func(s fixture) []string{
		"a binding": func(s fixture) []string { return []string{"binding", s.namespace, "-n", s.namespace} },
		"a set":     func(s fixture) []string { return []string{"set", s.namespace} },
	} {
		t.Run(what, func(t *testing.T) {
			s := newFixture(t)
			s.client.AwaitSelected(s.namespace, s.placement().GetName(), s.clusters()[0])
			got := run(t.Context(), append([]string{"revoke", "--now"}, args(s)...)...)
			if got.code != cli.ExitOK || !strings.Contains(got.out, "deleted: its clusters leave at once\n") {
				t.Errorf("revoke: %+v", got)
			}
			s.client.AwaitSelected(s.namespace, s.placement().GetName())
		})
	}
	t.Run("a cluster", func(t *testing.T) {
		s := newFixture(t)
		clusters := s.clusters()
		s.client.AwaitSelected(s.namespace, s.placement().GetName(), clusters[0])
		got := run(t.Context(), "revoke", "cluster", clusters[0], "--now")
		want := "managedcluster " + clusters[0] + " is no longer in the set " + s.namespace + ": it leaves placements that use the set at once\n"
		if got.out != want {
			t.Errorf("revoke: %+v, want %q", got, want)
		}
		s.client.AwaitSelected(s.namespace, s.placement().GetName(), clusters[1])
	})
	t.Run("a withdrawal that has begun", func(t *testing.T) {
		s := newFixture(t)
		s.client.AwaitSelected(s.namespace, s.placement().GetName(), s.clusters()[0])
		binding := []string{"revoke", "binding", s.namespace, "-n", s.namespace}
		if got := run(t.Context(), binding...); got.code != cli.ExitOK {
			t.Errorf("revoke: %+v", got)
		}
		got := run(t.Context(), append(binding, "--now")...)
		release := []string{"holds", "release", "managedclustersetbinding/" + s.namespace, "-n", s.namespace, "--hold", "Grace", "--reason"}
		if want := "`kubectl berth " + strings.Join(release, " ") + " WHY` ends its grace"; !strings.Contains(got.errOut, want) {
			t.Errorf("revoke --now: %+v, want the advice %q", got, want)
		}
		if got := run(t.Context(), append(release, "a test")...); got.code != cli.ExitOK {
			t.Errorf("release: %+v", got)
		}
		s.client.AwaitSelected(s.namespace, s.placement().GetName())
	})
	for _, wrong := range [][]string{{"revoke"}, {"revoke", "binding"}, {"revoke", "placement", "p"}} {
		if got := run(t.Context(), wrong...); got.code != cli.ExitRefused || !strings.Contains(got.errOut, "name what to withdraw") {
			t.Errorf("%q: %+v, want a refusal that says what to name", wrong, got)
		}
	}
}
