package join

import (
	"context"
	"errors"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const finalizer = "example.com/agent"

// define installs a definition that stores any object.
func (t *testHub) define(group, version, kind, resource string) {
	t.t.Helper()
	schema := map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": resource + "." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"kind": kind, "plural": resource},
			"versions": []any{map[string]any{"name": version, "served": true, "storage": true, "schema": schema}},
		},
	}}
	t.MustCreateMissing(definition)
}

func (t *testHub) defineContent() {
	t.t.Helper()
	t.define("work.open-cluster-management.io", "v1", "ManifestWork", "manifestworks")
}

func newContent(kind, namespace, name, priority string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "work.open-cluster-management.io/v1", "kind": kind,
		"spec": map[string]any{},
	}}
	if kind == "ManagedClusterAddOn" {
		out.SetAPIVersion("addon.open-cluster-management.io/v1alpha1")
		out.Object["spec"] = map[string]any{}
	}
	out.SetNamespace(namespace)
	out.SetName(name)
	out.SetFinalizers([]string{finalizer})
	out.SetAnnotations(map[string]string{clusterv1.CleanupPriorityAnnotationKey: priority})
	return out
}

// awaitDeleting waits until an object is marked as deleted.
func (t *testHub) awaitDeleting(object client.Object) {
	t.t.Helper()
	t.AwaitObject(object, "an object is marked as deleted", func() error {
		if object.GetDeletionTimestamp() == nil {
			return fmt.Errorf("%s is not being deleted", object.GetName())
		}
		return nil
	})
}

func (t *testHub) wantKept(object client.Object) {
	t.t.Helper()
	if err := t.Get(t.t.Context(), client.ObjectKeyFromObject(object), object); err != nil || object.GetDeletionTimestamp() != nil {
		t.t.Errorf("%s is deleted too early: %v", object.GetName(), err)
	}
}

// release removes the finalizer of an object, as the agent does.
func (t *testHub) release(object client.Object) {
	t.t.Helper()
	err := t.Patch(t.t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
	if err != nil && !apierrors.IsNotFound(err) {
		t.t.Fatal(err)
	}
}

func workBinding(cluster string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{
		Namespace: cluster,
		Name:      "open-cluster-management:managedcluster:" + cluster + ":work",
	}}
}

func TestTheAgentKeepsItsWorksUntilTheLastIsGone(t *testing.T) {
	s := newTestHub(t)
	s.defineContent()
	startManager(t)
	s.cluster("works")
	s.awaitAccepted("works")

	t.Log("a denied agent may finish its works")
	work := newContent("ManifestWork", "works", "w", "")
	s.AwaitCreated(work)
	s.setAccepted("works", false)
	s.awaitCondition("works", clusterv1.ManagedClusterConditionHubAccepted, metav1.ConditionFalse, clusterv1.ReasonHubClusterAdminDenied)
	s.AwaitGone(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{
		Namespace: "works",
		Name:      "open-cluster-management:managedcluster:works:registration",
	}})
	s.wantKept(workBinding("works"))
	s.release(work)
	s.MustDelete(work)
	s.AwaitGone(workBinding("works"))

	t.Log("a deletion removes add-ons, then works by priority, then the rest")
	s.setAccepted("works", true)
	s.awaitAccepted("works")
	addOn, early, late := newContent("ManagedClusterAddOn", "works", "a", ""), newContent("ManifestWork", "works", "early", "bad"),
		newContent("ManifestWork", "works", "late", "10")
	s.AwaitCreated(addOn, early, late)
	cluster := kit.Cluster("works")
	s.MustDelete(cluster)
	s.awaitDeleting(addOn)
	if message := s.awaitCondition("works", clusterv1.ManagedClusterConditionDeleting, metav1.ConditionTrue,
		clusterv1.ReasonResourceRemaining); message !=
		"The namespace works still has 1 ManagedClusterAddOn and 2 ManifestWorks; works are removed without the agent, "+
			"once it is silent for 10m0s" {
		t.Errorf("the message is %q", message)
	}
	s.wantKept(early)
	s.release(addOn)
	s.awaitDeleting(early)
	s.wantKept(late)
	s.wantKept(workBinding("works"))
	s.release(early)
	s.awaitDeleting(late)
	s.release(late)
	s.AwaitGone(cluster)
	for _, object := range s.objects("works") {
		s.AwaitGone(object)
	}
}

func TestADeletionEndsWithoutASilentAgentWhereThatIsAllowed(t *testing.T) {
	s := newTestHub(t)
	s.defineContent()
	startManager(t)
	for _, name := range []string{"patient", "forced"} {
		s.cluster(name, func(c *clusterv1.ManagedCluster) {
			c.Spec.LeaseDurationSeconds = 1
			if name == "forced" {
				c.Annotations[clusterv1.ForceDeleteAfterAnnotationKey] = "1s"
			}
		})
		s.awaitAccepted(name)
		s.AwaitCreated(newContent("ManifestWork", name, "w", ""))
	}
	patient, forced := kit.Cluster("patient"), kit.Cluster("forced")
	kit.NoError(t, errors.Join(s.Delete(t.Context(), patient), s.Delete(t.Context(), forced)))
	s.AwaitGone(forced)
	s.awaitEvent("ForcedRemoval", "w")
	s.awaitCondition("patient", clusterv1.ManagedClusterConditionDeleting, metav1.ConditionTrue, clusterv1.ReasonResourceRemaining)
	work := newContent("ManifestWork", "patient", "w", "")
	s.awaitDeleting(work)
	s.release(work)
	s.AwaitGone(patient)
}

// TestNothingIsWrittenBesideOpenClusterManagement runs its registration controller, as far as the hub sees it.
func TestNothingIsWrittenBesideOpenClusterManagement(t *testing.T) {
	s := newTestHub(t)
	const namespace = "open-cluster-management-hub"
	labels := map[string]any{"app": "r"}
	deployment := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{
			"namespace": namespace,
			"name":      "cluster-manager-registration-controller",
		},
		"spec": map[string]any{
			"replicas": int64(3), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "r", "image": "r"}}},
			},
		},
	}}
	s.AwaitCreated(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": namespace},
	}})
	s.AwaitCreated(deployment)
	t.Cleanup(func() { _ = s.Delete(context.WithoutCancel(t.Context()), deployment) })
	s.cluster("beside")
	manager := startBesideOCM(t)
	s.Await("the manager reports Open Cluster Management", func(context.Context) error {
		return manager.logged("a controller of Open Cluster Management runs on this hub")
	})
	s.Await("the rest of the manager runs", func(ctx context.Context) error { // the rest of the manager runs
		return s.Get(ctx, client.ObjectKey{Name: clusterv1beta2.GlobalClusterSetName}, &clusterv1beta2.ManagedClusterSet{})
	})
	if objects := s.objects("beside"); len(objects) != 1 || len(objects["cluster"].GetFinalizers()) > 0 {
		t.Errorf("objects were created: %v", objects)
	}
}
