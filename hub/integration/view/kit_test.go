package view

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	viewv1 "github.com/berth-project/berth/api/view/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

var (
	realSets     = clusterv1beta2.SchemeGroupVersion.WithResource("managedclustersets")
	realClusters = clusterv1.SchemeGroupVersion.WithResource("managedclusters")
	setViews     = viewv1.SchemeGroupVersion.WithResource("managedclustersets")
	clusterViews = viewv1.SchemeGroupVersion.WithResource("managedclusters")
)

var counter atomic.Int64

// uniqueName returns a name that no other test uses. Names with one prefix have the order of their creation.
func uniqueName(prefix string) string { return fmt.Sprintf("%s-%04d", prefix, counter.Add(1)) }

// userClient is a client of the hub for one user.
type userClient struct {
	t      *testing.T
	name   string
	config *rest.Config
	dynamic.Interface
}

// newUser returns a user with the permissions of every authenticated user and of its roles.
func newUser(t *testing.T, groups ...string) userClient {
	t.Helper()
	name := uniqueName("user")
	return clientFor(t, name, shared.ConfigFor(t, name, groups...))
}

func clientFor(t *testing.T, name string, config *rest.Config) userClient {
	t.Helper()
	client := kit.Must(dynamic.NewForConfig(config)).In(t)
	return userClient{t, name, config, client}
}

func admin(t *testing.T) userClient {
	t.Helper()
	return clientFor(t, "berth-admin", shared.Config())
}

// list returns the names of the visible objects.
func (u userClient) list(ctx context.Context, what schema.GroupVersionResource, options metav1.ListOptions) ([]string, error) {
	list, err := u.Resource(what).List(ctx, options)
	if err != nil {
		return nil, err
	}
	out := []string{}
	for _, item := range list.Items {
		out = append(out, item.GetName())
	}
	return out, nil
}

// waitForNames waits until exactly these objects are visible.
func (u userClient) waitForNames(what schema.GroupVersionResource, want ...string) {
	u.t.Helper()
	kit.Await(u.t, "exactly these objects are visible", func(ctx context.Context) error {
		got, err := u.list(ctx, what, metav1.ListOptions{})
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("%s lists %s %v, want %v", u.name, what.Resource, got, want)
		}
		return err
	})
}

// kubectl runs kubectl as the user and returns its output.
func (u userClient) kubectl(args ...string) (string, error) {
	u.t.Helper()
	binary := kit.Must(hubtest.Binary()).In(u.t)
	command := exec.CommandContext(u.t.Context(), binary, append([]string{"kubectl"}, args...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+shared.WriteKubeconfig(u.t, u.config), "HOME="+u.t.TempDir())
	out, err := command.CombinedOutput()
	return string(out), err
}

// columns returns a table without its last column, the age.
func columns(table string) [][]string {
	var out [][]string
	for line := range strings.Lines(table) {
		cells := strings.Fields(line)
		out = append(out, cells[:len(cells)-1])
	}
	return out
}

// createObject creates an object and deletes it after the test.
func createObject(t *testing.T, what schema.GroupVersionResource, object map[string]any) {
	t.Helper()
	client := admin(t).Resource(what)
	made := kit.Must(client.Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})).In(t)
	t.Cleanup(func() {
		_ = client.Delete(context.WithoutCancel(t.Context()), made.GetName(), metav1.DeleteOptions{}) // the test may have
	})
}

// createSet creates an exclusive set with a new name and labels.
func createSet(t *testing.T, prefix string, labels map[string]any) string {
	t.Helper()
	name := uniqueName(prefix)
	createObject(t, realSets, map[string]any{
		"apiVersion": clusterv1beta2.SchemeGroupVersion.String(), "kind": "ManagedClusterSet",
		"metadata": map[string]any{"name": name, "labels": labels},
	})
	return name
}

// createClusterIn creates a cluster in a set.
func createClusterIn(t *testing.T, set string) string {
	t.Helper()
	name := uniqueName("cluster")
	createObject(t, realClusters, map[string]any{
		"apiVersion": clusterv1.SchemeGroupVersion.String(), "kind": "ManagedCluster",
		"metadata": map[string]any{"name": name, "labels": map[string]any{clusterv1beta2.ClusterSetLabel: set}},
		"spec":     map[string]any{"hubAcceptsClient": true},
	})
	return name
}

// moveCluster puts a cluster into another set.
func moveCluster(t *testing.T, cluster, set string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, clusterv1beta2.ClusterSetLabel, set)
	kit.Must(admin(t).Resource(realClusters).Patch(t.Context(), cluster, "application/merge-patch+json", []byte(patch),
		metav1.PatchOptions{})).In(t)
}

func rules(verb, resource string, names ...string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{
		Verbs: []string{verb}, APIGroups: []string{clusterv1.GroupName}, Resources: []string{resource}, ResourceNames: names,
	}}
}

// grant creates a role with one rule and binds it to a subject.
func grant(t *testing.T, to rbacv1.Subject, verb, resource string, names ...string) *rbacv1.ClusterRole {
	t.Helper()
	roles, bindings := shared.Client(t).RbacV1().ClusterRoles(), shared.Client(t).RbacV1().ClusterRoleBindings()
	role := kit.Must(roles.Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: uniqueName("role")}, Rules: rules(verb, resource, names...),
	}, metav1.CreateOptions{})).In(t)
	kit.Must(bindings.Create(t.Context(), kit.ClusterRoleBinding(role.Name, role.Name, to), metav1.CreateOptions{})).In(t)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		err := errors.Join(roles.Delete(ctx, role.Name, metav1.DeleteOptions{}), bindings.Delete(ctx, role.Name, metav1.DeleteOptions{}))
		if err != nil {
			t.Error(err)
		}
	})
	return role
}

// updateRole replaces the rules of a role.
func updateRole(t *testing.T, role *rbacv1.ClusterRole, rules []rbacv1.PolicyRule) {
	t.Helper()
	changed := role.DeepCopy()
	changed.Rules, changed.ResourceVersion = rules, ""
	kit.Must(shared.Client(t).RbacV1().ClusterRoles().Update(t.Context(), changed, metav1.UpdateOptions{})).In(t)
}
