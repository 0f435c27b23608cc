package join

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// protect stores the policies that protect clusters from deletion, until the end of the test.
func (t *testHub) protect(action config.Action) {
	t.t.Helper()
	policies := config.Protection(action, action)
	for _, name := range kit.Must(fs.Glob(policies, "*.yaml")).In(t.t) {
		for document := range strings.SplitSeq(string(kit.Must(fs.ReadFile(policies, name)).In(t.t)), "\n---\n") {
			t.MustCreateTemporary(kit.Parse(t.t, document))
		}
	}
}

// remover returns a user who may delete and annotate clusters and namespaces, and nothing else.
func (t *testHub) remover() *kit.Client {
	t.t.Helper()
	const name = "remover"
	t.MustCreateTemporary(
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"", clusterv1.GroupName}, Resources: []string{"namespaces", "managedclusters"},
			Verbs: []string{"get", "patch", "delete", "deletecollection"},
		}}},
		kit.ClusterRoleBinding(name, name, kit.User(name)),
	)
	return kit.As(t.t, shared, name)
}

// isRefused returns whether a policy refuses a request, with a message that has a text; otherwise an error.
func isRefused(err error, policy, text string) error {
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), policy) || !strings.Contains(err.Error(), text) {
		return fmt.Errorf("%w, want it refused by %s with %q", err, policy, text)
	}
	return nil
}

// TestAcceptedClustersAreProtected: neither an administrator nor a user who may delete both removes an accepted cluster or its namespace by
// mistake. The manager keeps the protection true, and is not hindered.
func TestAcceptedClustersAreProtected(t *testing.T) {
	s := newTestHub(t)
	s.protect(config.Deny)
	startManager(t)
	remover := s.remover()
	s.cluster("guarded")
	s.awaitAccepted("guarded")
	const clusters, namespaces = "berth-cluster-deletion", "berth-namespace-deletion"
	cluster, namespace := kit.Cluster("guarded"), kit.Namespace("guarded")
	awaitProtected := func() {
		t.Helper()
		for by, user := range map[string]*kit.Client{"an administrator": s.Client, "a user with permissions": remover} {
			s.Await(by+" deletes neither", func(ctx context.Context) error {
				if err := isRefused(user.Delete(ctx, cluster, client.DryRunAll), clusters, "kubectl berth unjoin guarded"); err != nil {
					return err
				}
				return isRefused(user.Delete(ctx, namespace, client.DryRunAll), namespaces, "kubectl berth unjoin guarded")
			})
		}
	}
	awaitFree := func(object client.Object) {
		t.Helper()
		s.Await("the user may delete the object", func(ctx context.Context) error { return remover.Delete(ctx, object, client.DryRunAll) })
	}
	awaitProtected()
	err := isRefused(s.DeleteAllOf(t.Context(), &clusterv1.ManagedCluster{}, client.DryRunAll), clusters, "kubectl berth unjoin")
	kit.NoError(t, err)

	t.Log("the protection of the namespace follows acceptance, and another value of the annotation does not count")
	s.setAccepted("guarded", false)
	awaitFree(namespace)
	awaitFree(cluster)
	s.setAccepted("guarded", true)
	awaitProtected()
	remover.MustMerge(cluster, `{"metadata":{"annotations":{"berth-project.io/on-delete":"later"}}}`)
	awaitProtected()
	unprotected := kit.Namespace("guarded")
	remover.MustMerge(unprotected, `{"metadata":{"labels":{"berth-project.io/accepted":null}}}`)
	awaitProtected()

	t.Log("an annotated cluster goes with its namespace")
	for _, value := range []string{clusterv1.OnDeleteKeep, clusterv1.OnDeleteRemove} {
		remover.MustMerge(cluster, `{"metadata":{"annotations":{"berth-project.io/on-delete":"`+value+`"}}}`)
		awaitFree(cluster)
	}
	if err := isRefused(remover.Delete(t.Context(), namespace, client.DryRunAll), namespaces, "guarded"); err != nil {
		t.Error("the namespace of a cluster with the annotation: ", err)
	}
	remover.MustDelete(cluster)
	s.AwaitGone(cluster, namespace)

	t.Log("a namespace whose cluster lost its finalizers is free")
	s.cluster("stripped", func(c *clusterv1.ManagedCluster) {
		c.Annotations[clusterv1.OnDeleteAnnotationKey] = clusterv1.OnDeleteRemove
	})
	s.awaitAccepted("stripped")
	s.MustDelete(kit.Cluster("stripped"))
	s.MustMerge(kit.Cluster("stripped"), `{"metadata":{"finalizers":null}}`)
	s.AwaitGone(kit.Cluster("stripped"))
	awaitFree(kit.Namespace("stripped"))
	s.DeleteLater(kit.Namespace("stripped"))
}

// TestAWarningProtectsNothing uses the policies with the action Warn.
func TestAWarningProtectsNothing(t *testing.T) {
	s := newTestHub(t)
	s.protect(config.Warn)
	s.cluster("warned")
	admin := kit.NewRequester(t, shared.Config(), "admin")
	s.Await("the API server warns", func(ctx context.Context) error {
		const path = "/apis/cluster.open-cluster-management.io/v1/managedclusters/warned?dryRun=All"
		got, err := admin.Send(ctx, http.MethodDelete, path, "", nil)
		if err != nil || got.Code != http.StatusOK || !strings.Contains(strings.Join(got.Warnings, "\n"), "berth unjoin warned") {
			return fmt.Errorf("%w: %d %s with the warnings %q", kit.ErrNotYet, got.Code, got.Text, got.Warnings)
		}
		return nil
	})
}
