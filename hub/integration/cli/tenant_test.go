package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/cli"
)

// tenant gives a user the permissions of a tenant: to get the set of the fixture, and to read the namespace.
func (f fixture) tenant(t *testing.T) (user string) {
	t.Helper()
	user = f.namespace + "-tenant"
	subjects := []rbacv1.Subject{kit.User(user)}
	meta := metav1.ObjectMeta{Name: user}
	f.create(t, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{clusterv1beta1.GroupName}, Resources: []string{"managedclustersets"}, ResourceNames: []string{f.namespace},
		Verbs: []string{"get"},
	}}})
	f.create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, Subjects: subjects, RoleRef: kit.ClusterRole(user),
	})
	meta.Namespace = f.namespace
	f.create(t, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{clusterv1beta1.GroupName}, Resources: []string{"placements", "placementdecisions", "managedclustersetbindings"},
		Verbs: []string{"get", "list", "watch"},
	}}})
	f.create(t, &rbacv1.RoleBinding{
		ObjectMeta: meta, Subjects: subjects, RoleRef: kit.Role(user),
	})
	f.awaitMay(t, user, "get", "managedclustersets", "", f.namespace)
	f.awaitMay(t, user, "watch", "managedclustersetbindings", f.namespace, "")
	return user
}

// awaitMay waits until the API server allows a user a request for the resources of clusters.
func (f fixture) awaitMay(t *testing.T, user, verb, resource, namespace, name string) {
	t.Helper()
	kit.AwaitAccess(t, shared, user, nil, authorizationv1.ResourceAttributes{
		Verb: verb, Group: clusterv1beta1.GroupName, Resource: resource, Namespace: namespace, Name: name,
	}, true)
}

// TestTenantsReadTheViews: a tenant without the permission to list the hub gets the objects that it may see, and a note in one line. It
// never gets the clusters of another tenant.
func TestTenantsReadTheViews(t *testing.T) {
	s, other := newFixture(t), newFixture(t)
	s.startViews(t)
	chosen, left := s.waitExplained(t, "")
	user := s.tenant(t)
	as := func(args ...string) result {
		return run(t.Context(), append(args, "-n", s.namespace, "--as", user)...)
	}
	kit.Await(t, "the views show the chosen cluster", func(context.Context) error { // the views read the role a moment after it is stored
		if got := as("get", "clusters", "-o", "name"); !strings.Contains(got.out, chosen) {
			return fmt.Errorf("%w: %w", errNotYet, errors.New(got.out+got.errOut))
		}
		return nil
	})
	const seen = "note: you may not list the whole hub: "
	both, here := "clusters and sets are those that you may see; ", " are those of namespace "+s.namespace
	for name, tc := range map[string]struct {
		args []string
		code int
		want []string
		note string
	}{
		"clusters":    {[]string{"get", "clusters"}, cli.ExitOK, []string{chosen, left}, seen + both + "decisions" + here + "\n"},
		"one cluster": {[]string{"get", "cluster", left, "-o", "name"}, cli.ExitOK, []string{left}, seen + both + "decisions" + here + "\n"},
		"sets":        {[]string{"get", "sets"}, cli.ExitOK, []string{s.namespace}, seen + both + "bindings" + here + "\n"},
		"a tree": {
			[]string{"tree", "cluster", chosen},
			cli.ExitOK,
			[]string{": 1 placement in 1 namespace", "    web"},
			seen + both + "bindings and decisions" + here + "\n",
		},
		"a set": {
			[]string{"describe", "set", s.namespace},
			cli.ExitOK,
			[]string{"Bound To:", "events in the namespace default is missing"},
			seen + both + "bindings" + here + "\n",
		},
		"a diff": {
			[]string{"diff", "--remove", chosen},
			cli.ExitUnsatisfied,
			[]string{s.namespace + "/web", left},
			seen + both + "bindings, placements and decisions" + here + "; scores are left out\n",
		},
		"another tree": {
			[]string{"tree", "cluster", other.clusters()[0]},
			cli.ExitRefused, nil,
			`there is no cluster "` + other.clusters()[0] + `"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := as(tc.args...)
			if got.code != tc.code || !strings.Contains(got.errOut, tc.note) || strings.Contains(got.out, other.namespace) {
				t.Errorf("got %+v, want exit code %d and the note %q", got, tc.code, tc.note)
			}
			for _, want := range tc.want {
				if !strings.Contains(got.out, want) {
					t.Errorf("%q is not in\n%s", want, got.out)
				}
			}
		})
	}
	t.Run("a diff without the right to a set", func(t *testing.T) {
		blind := s.namespace + "-blind"
		s.create(t, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: blind}, Subjects: []rbacv1.Subject{kit.User(blind)},
			RoleRef: kit.Role(user),
		})
		s.awaitMay(t, blind, "watch", "managedclustersetbindings", s.namespace, "")
		got := run(t.Context(), "diff", "--delete", "binding/"+s.namespace, "-n", s.namespace, "--as", blind)
		const want = "the diff would be wrong, since you may not see clusters that are selected: 1 of 1 cluster"
		if got.code != cli.ExitRefused || !strings.Contains(got.errOut, want) {
			t.Errorf("got %+v, want %q", got, want)
		}
	})
	t.Run("completion", func(t *testing.T) {
		if got := completions(t, "get", "clusters", "--as", user, ""); strings.Join(got, " ") != strings.Join(s.clusters(), " ") {
			t.Errorf("completion returns %v, want %v", got, s.clusters())
		}
	})
	t.Run("to watch", func(t *testing.T) {
		if got := as("get", "clusters", "--watch"); got.code != cli.ExitRefused ||
			!strings.Contains(got.errOut, "--watch does not read the views of the manager: leave it out") {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("describe a placement", func(t *testing.T) {
		got := awaitOutput(t, []string{"describe", "placement/web", "-n", s.namespace}, // events are written later than decisions
			"PlacementSatisfied", "web-decision-1", chosen, "Changes:\n", "Events:\n", "AllDecisionsScheduled")
		if got.code != cli.ExitOK || got.errOut != "" {
			t.Errorf("got %+v", got)
		}
	})
}
