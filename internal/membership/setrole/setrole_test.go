package setrole

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

var (
	errBoom = errors.New("boom")
	start   = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
)

func set(name string, uid types.UID) *clusterv1beta2.ManagedClusterSet {
	return &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}}
}

func newReconciler(t *testing.T, intercept interceptor.Funcs, objects ...client.Object) *reconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(rbacv1.AddToScheme(scheme), clusterv1.AddToScheme(scheme), clusterv1beta2.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return &reconciler{
		client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(intercept).
			WithIndex(&clusterv1.ManagedCluster{}, clustersBySet, setLabel).Build(),
		guarded: func(context.Context) (bool, error) { return true, nil },
		clock:   clocktesting.NewFakePassiveClock(start), nextWrite: map[string]time.Time{},
	}
}

func (r *reconciler) run(t *testing.T, set string) error {
	t.Helper()
	_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: set}})
	return err
}

func (r *reconciler) roles(t *testing.T) map[string]rbacv1.ClusterRole {
	t.Helper()
	list := &rbacv1.ClusterRoleList{}
	if err := r.client.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	out := map[string]rbacv1.ClusterRole{}
	for _, role := range list.Items {
		role.ResourceVersion = ""
		out[role.Name] = role
	}
	return out
}

// expected returns the roles of the set dev.
func expected() map[string]rbacv1.ClusterRole {
	group := []string{"cluster.open-cluster-management.io"}
	may := func(verb, resource, name string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: group, Resources: []string{resource}, ResourceNames: []string{name}}
	}
	view, bind := may("get", "managedclustersets", "dev"), may("create", "managedclustersets/bind", "dev")
	out := map[string]rbacv1.ClusterRole{}
	for level, rules := range map[string][]rbacv1.PolicyRule{
		"viewer": {view},
		"binder": {view, bind},
		"admin": {
			view, bind, may("create", "managedclustersets/join", "dev"),
			may("create", "managedclusters/label", "cluster.open-cluster-management.io/clusterset:dev"),
		},
	} {
		name := "berth:managedclusterset:" + level + ":dev"
		out[name] = rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{
				Name: name,
				Labels: map[string]string{
					"berth-project.io/clusterset-role":                   level,
					"cluster.open-cluster-management.io/clusterset-role": level, "cluster.open-cluster-management.io/clusterset": "dev",
				},
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "cluster.open-cluster-management.io/v1beta2", Kind: "ManagedClusterSet", Name: "dev", UID: "1", Controller: new(true),
				}},
			},
			Rules: rules,
		}
	}
	return out
}

func TestRoles(t *testing.T) {
	const admin = "berth:managedclusterset:admin:dev"
	change := func(edit func(*rbacv1.ClusterRole)) []client.Object {
		role := expected()[admin]
		edit(&role)
		return []client.Object{set("dev", "1"), &role}
	}
	with := func(edit func(*rbacv1.ClusterRole)) map[string]rbacv1.ClusterRole {
		out := expected()
		role := out[admin]
		edit(&role)
		out[admin] = role
		return out
	}
	widen := func(r *rbacv1.ClusterRole) {
		r.Rules = append(r.Rules, rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}})
	}
	byPerson := func(r *rbacv1.ClusterRole) { r.OwnerReferences = nil; widen(r) }
	ofOlder := func(r *rbacv1.ClusterRole) { r.OwnerReferences[0].UID = "0" }
	aggregated := func(r *rbacv1.ClusterRole) { r.Labels["rbac.example.com/aggregate-to-dev"] = "true" }
	for sentence, test := range map[string]struct {
		objects []client.Object
		want    map[string]rbacv1.ClusterRole
	}{
		"a set gets its roles":        {[]client.Object{set("dev", "1")}, expected()},
		"added rules are removed":     {change(widen), expected()},
		"removed rules are restored":  {change(func(r *rbacv1.ClusterRole) { r.Rules = nil }), expected()},
		"removed labels are restored": {change(func(r *rbacv1.ClusterRole) { r.Labels = nil }), expected()},
		"an aggregation is removed": {
			change(func(r *rbacv1.ClusterRole) { r.AggregationRule = &rbacv1.AggregationRule{} }),
			expected(),
		},
		"labels for aggregation may be added": {change(aggregated), with(aggregated)},
		"a role of a user stays":              {change(byPerson), with(byPerson)},
		"a role of an older set stays":        {change(ofOlder), with(ofOlder)},
		"no set, no roles":                    {nil, map[string]rbacv1.ClusterRole{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newReconciler(t, interceptor.Funcs{}, test.objects...)
			for range 2 { // the second reconcile changes nothing
				if err := r.run(t, "dev"); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, r.roles(t)); diff != "" {
					t.Fatalf("roles (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestRolesGrantNoMoreThanTheirLevel: for every kind of set, its roles do not allow to change a set, to write a decision, or to use
// another set.
func TestRolesGrantNoMoreThanTheirLevel(t *testing.T) {
	hostile := set("thief", "1")
	hostile.Spec.ClusterSelector = clusterv1beta2.ManagedClusterSelector{
		SelectorType:   clusterv1beta2.ExclusiveLabel,
		ExclusiveLabel: &clusterv1beta2.ExclusiveLabelSelector{Key: clusterv1beta2.ClusterSetLabel, Value: "prod"},
	}
	allowed := map[string]string{
		"managedclustersets": "get", "managedclustersets/bind": "create", "managedclustersets/join": "create", "managedclusters/label": "create",
	}
	for _, level := range levels() {
		for _, rule := range desiredRole(level, hostile, nil).Rules {
			if len(rule.Verbs) != 1 || len(rule.Resources) != 1 || allowed[rule.Resources[0]] != rule.Verbs[0] {
				t.Errorf("%s may %v on %v", level, rule.Verbs, rule.Resources)
			}
			if len(rule.ResourceNames) != 1 || !strings.HasSuffix(rule.ResourceNames[0], "thief") {
				t.Errorf("%s may %v on %v, want only the set", level, rule.Verbs, rule.ResourceNames)
			}
		}
	}
}

func TestRoleName(t *testing.T) {
	long := strings.Repeat("a", 253)
	for sentence, test := range map[string]struct {
		set, want string
	}{
		"a usual name is kept":               {"dev.eu", "berth:managedclusterset:viewer:dev.eu"},
		"the longest name that fits is kept": {long[:222], "berth:managedclusterset:viewer:" + long[:222]},
		"a longer name is cut":               {long[:223], "berth:managedclusterset:viewer:" + long[:205] + ":298b3d8c466dd48d"},
		"a longer name keeps its hash":       {long[:222] + "b", "berth:managedclusterset:viewer:" + long[:205] + ":93d9490c101beba8"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := RoleName(Viewer, test.set); got != test.want || len(got) > 253 {
				t.Errorf("name (%d)\n%s, want\n%s", len(got), got, test.want)
			}
		})
	}
}

func TestALongNameIsNoLabel(t *testing.T) {
	role := desiredRole(Admin, set(strings.Repeat("a", 64), "1"), nil)
	if diff := cmp.Diff(map[string]string{clusterv1beta2.SetRoleLabel: "admin", clusterv1beta2.DeprecatedSetRoleLabel: "admin"},
		role.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func TestFailures(t *testing.T) {
	create := func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if strings.Contains(o.GetName(), "admin") {
			return errBoom
		}
		return c.Create(ctx, o, opts...)
	}
	r := newReconciler(t, interceptor.Funcs{Create: create}, set("dev", "1"))
	if err := r.run(t, "dev"); !errors.Is(err, errBoom) {
		t.Errorf("error %v, want %v", err, errBoom)
	}
	if got := len(r.roles(t)); got != 2 {
		t.Errorf("%d roles, want the other two roles", got)
	}
}

func TestSetsEnqueued(t *testing.T) {
	role := desiredRole(Admin, set("dev", "1"), nil)
	want := []reconcile.Request{{NamespacedName: types.NamespacedName{Name: "dev"}}}
	if diff := cmp.Diff(want, setOfRole(t.Context(), role)); diff != "" {
		t.Errorf("a set's role enqueues (-want +got):\n%s", diff)
	}
	if got := setOfRole(t.Context(), &rbacv1.ClusterRole{}); got != nil {
		t.Errorf("another role enqueues %v", got)
	}
}
