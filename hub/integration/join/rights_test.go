package join

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// strip deletes a cluster and removes its finalizers by hand.
func (t *testHub) strip(name string) {
	t.t.Helper()
	cluster := kit.Cluster(name)
	t.MustDelete(cluster)
	err := t.Patch(t.t.Context(), cluster, kit.Merge(`{"metadata":{"finalizers":null}}`))
	kit.NoError(t.t, client.IgnoreNotFound(err))
	t.AwaitGone(cluster)
}

// awaitNoRights waits until the roles and bindings of a cluster are gone.
func (t *testHub) awaitNoRights(objects map[string]client.Object) {
	t.t.Helper()
	for _, key := range []string{"registration", "work", "clusterrolebinding", "clusterrole"} {
		t.AwaitGone(objects[key])
	}
}

// TestRightsEndWithTheClusterWhateverItsFinalizers removes the finalizers of clusters by hand: while the manager runs, while it does not,
// and where the cluster is made anew at once. Roles that only look like those of a cluster stay.
func TestRightsEndWithTheClusterWhateverItsFinalizers(t *testing.T) {
	s := newTestHub(t)
	manager := startManager(t)
	s.defineContent()
	names := []string{"stripped", "offline", "anew"}
	objects := map[string]map[string]client.Object{}
	for _, name := range names {
		s.cluster(name)
	}
	for _, name := range names {
		s.awaitAccepted(name)
		objects[name] = s.objects(name)
		if want := 6; len(objects[name]) != want {
			t.Fatalf("the cluster %s has %v, want %d objects", name, slices.Sorted(maps.Keys(objects[name])), want)
		}
		s.AwaitCreated(newContent("ManifestWork", name, "w", "")) // so that the deletion does not end by itself
	}
	s.strip("stripped")
	s.awaitNoRights(objects["stripped"])

	t.Log("rights that were left while no manager ran go at its start")
	manager.Stop()
	manager.CheckLog(t)
	s.strip("offline")
	s.strip("anew")
	again := kit.Cluster("anew")
	s.MustCreate(again)
	theirs := []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "theirs", Labels: map[string]string{clusterv1.ClusterNameLabelKey: "offline"}}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "offline", Name: "berth-agent-account", Labels: map[string]string{clusterv1.ClusterNameLabelKey: "offline"},
			},
			RoleRef: kit.ClusterRole("view"),
		},
	}
	s.MustCreate(theirs...)
	s.labelSharedRole("registration")
	startManager(t)
	s.awaitNoRights(objects["offline"])
	s.awaitNoRights(objects["anew"])
	for _, object := range theirs {
		s.wantKept(object)
	}
	s.wantKept(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "open-cluster-management:managedcluster:registration"}})
	if diff := cmp.Diff([]string{"cluster", "namespace"}, slices.Sorted(maps.Keys(s.objects("anew")))); diff != "" {
		t.Errorf("objects of the cluster that waits for its acceptance (-want +got):\n%s", diff)
	}

	t.Log("the cluster that is made anew is accepted as any other")
	s.setAccepted("anew", true)
	s.awaitAccepted("anew")
	s.MustDelete(theirs[0])
}

// labelSharedRole labels the role that all agents share as that of a cluster named like it.
func (t *testHub) labelSharedRole(name string) {
	t.t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "open-cluster-management:managedcluster:" + name}}
	t.MustPatch(role, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"labels":{"open-cluster-management.io/cluster-name":"`+name+`"}}}`)))
}
