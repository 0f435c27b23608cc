package join

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

var errNotRefused = errors.New("not refused by the policy")

// TestWhatTheManagerWouldFillIsRefused: a user who may write ClusterRoles, bindings and namespaces could bind an empty role of a
// cluster, that of a denied cluster, or mark a namespace, and wait until the manager fills it.
func TestWhatTheManagerWouldFillIsRefused(t *testing.T) {
	s := newTestHub(t)
	const prefix, name = "open-cluster-management:managedcluster:", "role-writer"
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{
			APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles", "clusterrolebindings", "rolebindings"},
			Verbs: []string{"create", "update"},
		},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"create", "update"}},
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}},
	}}
	binding := func(name, to string) *rbacv1.ClusterRoleBinding {
		return kit.ClusterRoleBinding(name, to, kit.User("role-writer"))
	}
	deniedRole := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: prefix + "denied"}, Rules: []rbacv1.PolicyRule{
		{
			APIGroups: []string{"cluster.open-cluster-management.io"}, Resources: []string{"managedclusters"}, ResourceNames: []string{"denied"},
			Verbs: []string{"get", "list", "watch"},
		},
	}}
	kit.NoError(t, errors.Join(s.Create(t.Context(), role), s.Create(t.Context(), binding(name, name)), s.Create(t.Context(), deniedRole)))
	writer := kit.As(t, shared, name)
	namespace := func(name, cluster string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{clusterv1.ClusterNameLabelKey: cluster}}}
	}
	bindingIn := func(to string) *rbacv1.RoleBinding {
		all := binding("b", to)
		return kit.RoleBinding("default", "b", all.RoleRef, all.Subjects...)
	}
	const holders, manager = "the roles of clusters are for those who hold what they grant",
		`the ClusterRole "berth:namespace-inventory" is for the manager`
	for sentence, test := range map[string]struct {
		object client.Object
		want   string // a refusal; empty: created
	}{
		"another role":                           {&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, ""},
		"a binding of another role":              {binding("b", name), ""},
		"a namespace with another label":         {namespace("tenant", "other"), ""},
		"the empty role of a cluster":            {&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: prefix + "later"}}, holders},
		"a binding of the role of a cluster":     {binding("b", prefix+"denied"), holders},
		"a binding in a namespace":               {bindingIn(prefix + "denied"), holders},
		"a binding of the inventory":             {binding("b", "berth:namespace-inventory"), manager},
		"a binding of the inventory, namespaced": {bindingIn("berth:namespace-inventory"), manager},
		"a namespace of a cluster of its name":   {namespace("tenant", "tenant"), `would make the namespace that of the cluster "tenant"`},
	} {
		t.Run(sentence, func(t *testing.T) {
			kit.Await(t, "the manager fills it", func(ctx context.Context) error { // once the role and the policies are in force
				object, _ := test.object.DeepCopyObject().(client.Object)
				err := writer.Create(ctx, object, client.DryRunAll)
				if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
					return errors.Join(errNotRefused, err)
				}
				if test.want == "" {
					return err
				}
				return nil
			})
		})
	}
}
