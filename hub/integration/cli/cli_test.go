package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/cli"
)

// TestGet reads the decisions of a manager with each resource and output format.
func TestGet(t *testing.T) {
	hubtest.StartManager(t, shared, hubtest.ManagerOptions{})
	s := newFixture(t)
	s.waitDecided(t)
	t.Run("placements", func(t *testing.T) {
		got := run(t.Context(), "get", "placements", "-n", s.namespace)
		if want := "NAME   SATISFIED   REASON                  SELECTED   GROUPS   HELD   CHANGED   AGE\nweb    True        " +
			"AllDecisionsScheduled   1/1        1        0      "; got.code != cli.ExitOK || !strings.HasPrefix(got.out, want) {
			t.Errorf("got %+v, want it to begin with %q", got, want)
		}
	})
	t.Run("placements of all namespaces by label", func(t *testing.T) {
		got := run(t.Context(), "get", "pl", "-A", "-l", "tier=front", "-o", "wide")
		if got.code != cli.ExitOK || !strings.Contains(got.out, s.namespace+"   web    True") {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("clusters", func(t *testing.T) {
		chosen := 0
		for _, name := range s.clusters() {
			var got struct {
				Clusters []struct {
					Name       string
					Accepted   bool
					Sets       []string
					Placements int
				}
			}
			decode(t, run(t.Context(), "get", "cluster", name, "-o", "json"), &got)
			if len(got.Clusters) != 1 || !got.Clusters[0].Accepted || !slices.Contains(got.Clusters[0].Sets, s.namespace) {
				t.Fatalf("got %+v", got)
			}
			chosen += got.Clusters[0].Placements
		}
		if chosen != 1 {
			t.Errorf("%d clusters are chosen, want 1", chosen)
		}
	})
	t.Run("sets", func(t *testing.T) {
		got := run(t.Context(), "get", "set", s.namespace)
		if want := s.namespace + "   ExclusiveClusterSetLabel   2          " + s.namespace + "   -"; got.code != cli.ExitOK ||
			!strings.Contains(got.out, want) {
			t.Errorf("got %+v, want %q in it", got, want)
		}
	})
	t.Run("groups and the tree of a cluster", func(t *testing.T) { s.checkGroups(t) })
	t.Run("completion", func(t *testing.T) { s.complete(t) })
}

// checkGroups checks that the tree of the cluster in the group has the placement.
func (f fixture) checkGroups(t *testing.T) {
	var groups struct {
		Groups []struct {
			Index            string
			Clusters, Slices []string
		}
	}
	decode(t, run(t.Context(), "get", "groups", "web", "-n", f.namespace, "-o", "json"), &groups)
	if len(groups.Groups) != 1 || len(groups.Groups[0].Clusters) != 1 || !cmp.Equal(groups.Groups[0].Slices, []string{"web-decision-1"}) {
		t.Fatalf("got %+v", groups)
	}
	got := run(t.Context(), "tree", "cluster", groups.Groups[0].Clusters[0])
	for _, want := range []string{
		": 1 placement in 1 namespace", f.namespace + "   bound to " + f.namespace, "    web",
		"group 0   at most ",
	} {
		if got.code != cli.ExitOK || !strings.Contains(got.out, want) {
			t.Errorf("got %+v, want %q in it", got, want)
		}
	}
}

// complete checks that shell completion returns names from the hub, for every kind.
func (f fixture) complete(t *testing.T) {
	for name, tc := range map[string]struct{ args, want []string }{
		"placements":                  {[]string{"get", "pl", "-n", f.namespace, ""}, []string{"web"}},
		"placements, for groups":      {[]string{"get", "groups", "-n", f.namespace, "w"}, []string{"web"}},
		"clusters":                    {[]string{"get", "clusters", f.namespace}, f.clusters()},
		"clusters, for a tree":        {[]string{"tree", "cluster", f.namespace}, f.clusters()},
		"placements, to explain":      {[]string{"explain", "placement", "-n", f.namespace, ""}, []string{"web"}},
		"clusters, to explain":        {[]string{"explain", "placement", "web", "--cluster", f.namespace}, f.clusters()},
		"placements, for the history": {[]string{"history", "placement", "-n", f.namespace, ""}, []string{"web"}},
		"clusters, for the history":   {[]string{"history", "placement", "web", "--cluster", f.namespace}, f.clusters()},
		"clusters, to cordon":         {[]string{"diff", "--cordon", f.namespace}, f.clusters()},
		"no second placement":         {[]string{"explain", "placement", "web", "-n", f.namespace, ""}, []string{}},
		"sets":                        {[]string{"get", "sets", f.namespace}, []string{f.namespace}},
		"namespaces":                  {[]string{"get", "pl", "-n", f.namespace}, []string{f.namespace}},
		"no match":                    {[]string{"get", "pl", "-n", f.namespace, "x"}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, completions(t, tc.args...)); diff != "" {
				t.Errorf("completions (-want +got):\n%s", diff)
			}
		})
	}
}

func decode(t *testing.T, from result, into any) {
	t.Helper()
	if from.code != cli.ExitOK || from.errOut != "" {
		t.Fatalf("got %+v", from)
	}
	if err := json.Unmarshal([]byte(from.out), into); err != nil {
		t.Fatalf("%v: %s", err, from.out)
	}
}

// TestWatch follows a placement until its deletion. An interrupt ends the command without an error.
func TestWatch(t *testing.T) {
	hubtest.StartManager(t, shared, hubtest.ManagerOptions{})
	s := newFixture(t)
	s.waitDecided(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out, errOut kit.Buffer
	ended := make(chan int, 1)
	go func() { ended <- start(ctx, &out, &errOut, "get", "placements", "-n", s.namespace, "--watch") }()
	shows := func(what string) {
		t.Helper()
		kit.Await(t, "the watch prints the line", func(context.Context) error {
			if !strings.Contains(out.String(), what) {
				return fmt.Errorf("%w: %q is not in\n%s%s", errNotYet, what, out.String(), errOut.String())
			}
			return nil
		})
	}
	shows("AllDecisionsScheduled   1/1")
	more := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"numberOfClusters":2}}`))
	s.client.MustPatch(s.placement(), more)
	shows("AllDecisionsScheduled   2/2")
	s.client.MustDelete(s.placement())
	shows("web    gone")
	interrupt()
	if code := <-ended; code != cli.ExitOK || errOut.String() != "" || strings.Count(out.String(), "NAME") != 1 {
		t.Errorf("exit code %d, standard error %q, standard output\n%s", code, errOut.String(), out.String())
	}
}

// TestManyPages reads three pages, with each object once. Shell completion returns names of the last page.
func TestManyPages(t *testing.T) {
	const many = 1050
	namespace, hub := shared.Namespace(t), kit.New(t, shared)
	for number := range many {
		kit.NoError(t, hub.Create(t.Context(), &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("p-%04d", number),
			Annotations: map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"},
		}}))
	}
	got := run(t.Context(), "get", "placements", "-n", namespace, "-o", "name")
	names := strings.Fields(got.out)
	if len(names) != many || !slices.IsSorted(names) || len(slices.Compact(names)) != many {
		t.Errorf("got %d names, want %d, each once and in order; %s", len(names), many, got.errOut)
	}
	if offered := completions(t, "get", "pl", "-n", namespace, "p-104"); len(offered) != 10 {
		t.Errorf("completion returns %v, want the ten names of the last page with the prefix", offered)
	}
}

// TestRefusals checks that an error names the missing permission, API or object.
func TestRefusals(t *testing.T) {
	address := shared.Config().Host
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a user without a role": {
			[]string{"get", "pl", "-n", "default", "--as", "no-role"},
			"reading placements: the right to list placements.cluster.open-cluster-management.io in the namespace default is missing; " +
				`ask for a role that gives it: placements.cluster.open-cluster-management.io is forbidden: User "no-role" cannot list`,
		},
		"a user without a role, in all namespaces": {
			[]string{"get", "pl", "-A", "--as", "no-role"},
			"the right to list placements.cluster.open-cluster-management.io in every namespace is missing",
		},
		"a user without a role, to watch": {
			[]string{"get", "clusters", "-w", "--as", "no-role"},
			"reading clusters: the right to list managedclusters.cluster.open-cluster-management.io is missing",
		},
		"a hub without Berth's API": {
			[]string{"get", "pl", "--server", address + "/elsewhere"},
			"reading placements: this hub has no Placement API (cluster.open-cluster-management.io/v1beta1): install Berth's CRDs",
		},
		"a slow hub": {
			[]string{"get", "pl", "--request-timeout", "1ns"},
			"did not answer in time",
		},
		"no such placement": {
			[]string{"get", "placement", "nothing", "-n", "default"},
			`error: there is no placement "nothing" in the namespace default`,
		},
		"no such cluster": {[]string{"tree", "cluster", "nothing"}, `error: there is no cluster "nothing"`},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t.Context(), tc.args...)
			if got.code != cli.ExitRefused || got.out != "" || !strings.Contains(got.errOut, tc.want) {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
		})
	}
	if offered := completions(t, "get", "clusters", "--as", "no-role", ""); len(offered) != 0 {
		t.Errorf("completion returns %v to a user without a role", offered)
	}
}
