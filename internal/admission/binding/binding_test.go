package binding_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/admission/binding"
	"github.com/berth-project/berth/internal/admission/permission"
)

// fakeUser may bind one set.
type fakeUser struct {
	bind string
	err  error
}

func (u fakeUser) Name() string { return "jane" }

func (u fakeUser) HasAny(_ context.Context, oneOf ...permission.Permission) (bool, error) {
	want := permission.Permission{
		Verb: "create", Group: "cluster.open-cluster-management.io", Resource: "managedclustersets", Subresource: "bind", Name: u.bind,
	}
	return len(oneOf) == 1 && oneOf[0] == want, u.err
}

func TestValidate(t *testing.T) {
	bound := func(name, set string) *binding.Binding {
		return &binding.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name},
			Spec:       clusterv1beta2.ManagedClusterSetBindingSpec{ClusterSet: set},
		}
	}
	with := func(maker string, finalizers ...string) *binding.Binding {
		out := bound("dev", "dev")
		out.Labels, out.Finalizers = map[string]string{"a": "b", clusterv1beta2.MadeByLabel: maker}, finalizers
		return out
	}
	plain := func(finalizers ...string) *binding.Binding {
		out := bound("dev", "dev")
		out.Labels, out.Finalizers = map[string]string{"a": "b"}, finalizers
		return out
	}
	wrong := bound("dev", "prod")
	wrong.Labels = map[string]string{clusterv1beta2.MadeByLabel: "grant"}
	refused := func(act, name, set string) string {
		return `managedclustersetbindings.cluster.open-cluster-management.io "` + name + `" is forbidden: user "jane" may not ` + act +
			` the cluster set "` + set +
			`": this needs the verb "create" on "managedclustersets/bind" in the API group "cluster.open-cluster-management.io" with the resourceName "` + set + `"`
	}
	forbidden := func(name, set string) string { return refused("bind", name, set) }
	const mark = "change the label berth-project.io/binding-made-by of a binding to"
	const markDeprecated = "change the label cluster.open-cluster-management.io/binding-made-by of a binding to"
	deprecated := func(finalizers ...string) *binding.Binding {
		out := bound("dev", "dev")
		out.Labels, out.Finalizers = map[string]string{"a": "b", clusterv1beta2.DeprecatedMadeByLabel: "grant"}, finalizers
		return out
	}
	const hold = "hold, by a finalizer, a granted binding to"
	const invalid = `ManagedClusterSetBinding.cluster.open-cluster-management.io "dev" is invalid: spec.clusterSet: `
	for name, tc := range map[string]struct {
		old, after *binding.Binding
		user       fakeUser
		want       string
	}{
		"created with the right": {nil, bound("dev", "dev"), fakeUser{bind: "dev"}, ""},
		"created without":        {nil, bound("dev", "dev"), fakeUser{bind: "prod"}, forbidden("dev", "dev")},
		"created under another name": {
			nil, bound("dev", "prod"),
			fakeUser{bind: "prod"},
			invalid + `Invalid value: "prod": must be the same as metadata.name`,
		},
		"created without a set": {
			nil, bound("dev", ""),
			fakeUser{bind: ""},
			invalid + `Required value: set it to the name of the cluster set, which is metadata.name`,
		},
		"another field changed, the right lost":  {bound("dev", "dev"), bound("dev", "dev"), fakeUser{}, ""},
		"a wrong binding, another field changed": {bound("dev", "prod"), bound("dev", "prod"), fakeUser{}, ""},
		"changed to another set": {
			bound("dev", "dev"), bound("dev", "prod"),
			fakeUser{bind: "prod"},
			invalid + `Invalid value: "prod": must be the same as metadata.name`,
		},
		"a wrong binding corrected with the right": {bound("dev", "prod"), bound("dev", "dev"), fakeUser{bind: "dev"}, ""},
		"a wrong binding corrected without":        {bound("dev", "prod"), bound("dev", "dev"), fakeUser{bind: "prod"}, forbidden("dev", "dev")},
		"a permission review that fails":           {nil, bound("dev", "dev"), fakeUser{bind: "dev", err: errors.New("boom")}, "boom"},
		"a missing set":                            {nil, bound("later", "later"), fakeUser{bind: "later"}, ""},
		"the right to another set":                 {nil, bound("global", "global"), fakeUser{bind: "dev"}, forbidden("global", "global")},

		"the deprecated mark taken off, without":     {deprecated(), plain(), fakeUser{}, refused(markDeprecated, "dev", "dev")},
		"the deprecated mark renamed, without":       {deprecated(), with("grant"), fakeUser{}, refused(mark, "dev", "dev")},
		"the deprecated mark renamed with the right": {deprecated(), with("grant"), fakeUser{bind: "dev"}, ""},
		"a finalizer with the deprecated mark":       {deprecated(), deprecated("hold"), fakeUser{}, refused(hold, "dev", "dev")},
		"created with the mark, and the right":       {nil, with("grant"), fakeUser{bind: "dev"}, ""},
		"created with the mark, without":             {nil, with("grant"), fakeUser{}, forbidden("dev", "dev")},
		"the mark taken off with the right":          {with("grant"), plain(), fakeUser{bind: "dev"}, ""},
		"the mark taken off without":                 {with("grant"), plain(), fakeUser{}, refused(mark, "dev", "dev")},
		"all labels taken off without":               {with("grant"), bound("dev", "dev"), fakeUser{}, refused(mark, "dev", "dev")},
		"the mark put on with the right":             {plain(), with("grant"), fakeUser{bind: "dev"}, ""},
		"the mark put on without":                    {plain(), with("grant"), fakeUser{bind: "prod"}, refused(mark, "dev", "dev")},
		"an empty mark put on without":               {plain(), with(""), fakeUser{}, refused(mark, "dev", "dev")},
		"the mark changed without":                   {with("grant"), with("jane"), fakeUser{}, refused(mark, "dev", "dev")},
		"the mark put on a wrong binding": {
			bound("dev", "prod"), wrong,
			fakeUser{bind: "prod"},
			invalid + `Invalid value: "prod": must be the same as metadata.name`,
		},
		"the mark taken off, the review fails": {with("grant"), plain(), fakeUser{bind: "dev", err: errors.New("boom")}, "boom"},
		"another label of a granted binding": {
			with("grant"),
			func() *binding.Binding { b := with("grant"); b.Labels["a"] = "c"; return b }(),
			fakeUser{},
			"",
		},
		"a finalizer on a granted binding, the right": {with("grant"), with("grant", "x"), fakeUser{bind: "dev"}, ""},
		"a finalizer on a granted binding without":    {with("grant", "x"), with("grant", "x", "y"), fakeUser{}, refused(hold, "dev", "dev")},
		"a finalizer taken off a granted binding":     {with("grant", "x", "y"), with("grant", "y"), fakeUser{}, ""},
		"a finalizer on a user's own binding":         {plain(), plain("x"), fakeUser{}, ""},
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
