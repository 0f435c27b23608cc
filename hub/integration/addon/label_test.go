package addon

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// awaitLabel waits until a cluster has a feature label; an empty value stands for no label.
func (t *testHub) awaitLabel(cluster, addOn, want string) {
	t.t.Helper()
	stored := kit.Cluster(cluster)
	t.AwaitObject(stored, "a cluster has a feature label", func() error {
		if got := stored.Labels[addonv1alpha1.AddonFeatureLabelPrefix+addOn]; got != want {
			return fmt.Errorf("the label of %s is %q, want %q", addOn, got, want)
		}
		return nil
	})
}

// awaitHealth waits until condition Available of an add-on has a status and a reason.
func (t *testHub) awaitHealth(addOn *addonv1alpha1.ManagedClusterAddOn, status metav1.ConditionStatus, reason string) {
	t.t.Helper()
	t.AwaitObject(addOn, "condition Available of an add-on has a status and a reason", func() error {
		found := meta.FindStatusCondition(addOn.Status.Conditions, addonv1alpha1.ManagedClusterAddOnConditionAvailable)
		if found == nil || found.Status != status || found.Reason != reason {
			return fmt.Errorf("the health of %s is %+v, want %s by %s", addOn.Name, found, status, reason)
		}
		return nil
	})
}

// report sets condition Available of an add-on.
func (t *testHub) report(addOn *addonv1alpha1.ManagedClusterAddOn, status metav1.ConditionStatus) {
	t.t.Helper()
	before := addOn.DeepCopy()
	meta.SetStatusCondition(&addOn.Status.Conditions, metav1.Condition{
		Type:   addonv1alpha1.ManagedClusterAddOnConditionAvailable,
		Status: status, Reason: "Test",
	})
	t.MustPatchStatus(addOn, client.MergeFrom(before))
}

// TestAClusterHasTheHealthOfItsAddOnsAsLabels follows one add-on from its creation to its deletion.
func TestAClusterHasTheHealthOfItsAddOnsAsLabels(t *testing.T) {
	s := newTestHub(t)
	s.startManager()
	cluster := kit.Cluster("edge", "region", "north")
	cluster.Spec.HubAcceptsClient = true
	s.AwaitCreated(cluster)
	addOn := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: "search"}}
	s.AwaitCreated(addOn) // succeeds once the namespace of the cluster exists

	s.awaitLabel("edge", "search", "unreachable")
	s.report(addOn, metav1.ConditionTrue)
	s.awaitLabel("edge", "search", "available")
	s.report(addOn, metav1.ConditionFalse)
	s.awaitLabel("edge", "search", "unhealthy")

	t.Log("the hub overwrites what another client writes")
	s.MustRead(cluster)
	before := cluster.DeepCopy()
	cluster.Labels[addonv1alpha1.AddonFeatureLabelPrefix+"search"] = "available"
	cluster.Labels[addonv1alpha1.AddonFeatureLabelPrefix+"none"] = "available"
	s.MustPatch(cluster, client.MergeFrom(before))
	s.awaitLabel("edge", "search", "unhealthy")
	s.awaitLabel("edge", "none", "")

	t.Log("an add-on of a silent cluster is Unknown")
	s.MustRead(cluster)
	silent := cluster.DeepCopy()
	meta.SetStatusCondition(&silent.Status.Conditions, metav1.Condition{
		Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionUnknown,
		Reason: clusterv1.ReasonManagedClusterLeaseUpdateStopped, Message: "the test",
	})
	s.MustPatchStatus(silent, client.MergeFrom(cluster))
	s.awaitLabel("edge", "search", "unreachable")
	s.awaitHealth(addOn, metav1.ConditionUnknown, clusterv1.ReasonManagedClusterLeaseUpdateStopped)

	s.MustDelete(addOn)
	s.awaitLabel("edge", "search", "")
	s.MustRead(cluster)
	if cluster.Labels["region"] != "north" {
		t.Error("the label of the user is gone")
	}
}
