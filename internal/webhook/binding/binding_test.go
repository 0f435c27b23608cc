package binding_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/webhook/binding"
	"github.com/berth-project/berth/internal/webhook/right"
)

// user may bind one set.
type user struct {
	bind string
	err  error
}

func (u user) Name() string { return "jane" }

func (u user) Has(_ context.Context, oneOf ...right.Right) (bool, error) {
	want := right.Right{
		Verb: "create", Group: "cluster.open-cluster-management.io", Resource: "managedclustersets", Subresource: "bind", Name: u.bind,
	}
	return len(oneOf) == 1 && oneOf[0] == want, u.err
}

func TestValidate(t *testing.T) {
	bound := func(name, set string) *binding.Binding {
		return &binding.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Spec: clusterv1beta2.ManagedClusterSetBindingSpec{ClusterSet: set}}
	}
	forbidden := func(name, set string) string {
		return `managedclustersetbindings.cluster.open-cluster-management.io "` + name + `" is forbidden: user "jane" may not bind the cluster set "` + set +
			`": this needs the verb "create" on "managedclustersets/bind" in the API group "cluster.open-cluster-management.io" with the resourceName "` + set + `"`
	}
	const invalid = `ManagedClusterSetBinding.cluster.open-cluster-management.io "dev" is invalid: spec.clusterSet: `
	for name, tc := range map[string]struct {
		old, after *binding.Binding
		user       user
		want       string
	}{
		"created with the right":             {nil, bound("dev", "dev"), user{bind: "dev"}, ""},
		"created without":                    {nil, bound("dev", "dev"), user{bind: "prod"}, forbidden("dev", "dev")},
		"created under another name":         {nil, bound("dev", "prod"), user{bind: "prod"}, invalid + `Invalid value: "prod": must be the same as metadata.name`},
		"created without a set":              {nil, bound("dev", ""), user{bind: ""}, invalid + `Required value: name the cluster set to bind, as metadata.name does`},
		"changed elsewhere, the right lost":  {bound("dev", "dev"), bound("dev", "dev"), user{}, ""},
		"a wrong one changed elsewhere":      {bound("dev", "prod"), bound("dev", "prod"), user{}, ""},
		"turned to another set":              {bound("dev", "dev"), bound("dev", "prod"), user{bind: "prod"}, invalid + `Invalid value: "prod": must be the same as metadata.name`},
		"a wrong one mended with the right":  {bound("dev", "prod"), bound("dev", "dev"), user{bind: "dev"}, ""},
		"a wrong one mended without":         {bound("dev", "prod"), bound("dev", "dev"), user{bind: "prod"}, forbidden("dev", "dev")},
		"a right that cannot be looked up":   {nil, bound("dev", "dev"), user{bind: "dev", err: errors.New("boom")}, "boom"},
		"a set that does not exist so far":   {nil, bound("later", "later"), user{bind: "later"}, ""},
		"a right to a set of another's name": {nil, bound("global", "global"), user{bind: "dev"}, forbidden("global", "global")},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := binding.Validate(t.Context(), tc.old, tc.after, tc.user); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("refusal (-want +got):\n%s", diff)
			}
		})
	}
}
