package join

import (
	"context"
	"fmt"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// heldBy returns a work with finalizers.
func heldBy(namespace, name string, finalizers ...string) *unstructured.Unstructured {
	out := newContent("ManifestWork", namespace, name, "")
	out.SetFinalizers(finalizers)
	return out
}

// TestTheDeletedNamespaceOfAnAcceptedClusterEnds deletes the namespaces of an accepted cluster and of a denied one. The works of the first
// have a finalizer of another client too, so that the state in between is seen.
func TestTheDeletedNamespaceOfAnAcceptedClusterEnds(t *testing.T) {
	s := newTestHub(t)
	s.defineContent()
	startManager(t)
	s.cluster("tidied")
	s.cluster("refused")
	s.awaitAccepted("tidied")
	s.awaitAccepted("refused")
	s.setAccepted("refused", false)
	s.awaitCondition("refused", clusterv1.ManagedClusterConditionHubAccepted, metav1.ConditionFalse, clusterv1.ReasonHubClusterAdminDenied)
	both, alone := heldBy("tidied", "both", finalizer, workv1.ManifestWorkFinalizer), heldBy("tidied", "alone", workv1.ManifestWorkFinalizer)
	denied := heldBy("refused", "denied", workv1.ManifestWorkFinalizer)
	s.AwaitCreated(both, alone, denied)
	before := s.objects("tidied")

	s.MustDelete(kit.Namespace("tidied"))
	s.MustDelete(kit.Namespace("refused"))
	message := s.awaitCondition("tidied", clusterv1.ManagedClusterConditionHubAccepted, metav1.ConditionTrue,
		clusterv1.ReasonNamespaceTerminating)
	if !strings.Contains(message, "its namespace tidied is being deleted") {
		t.Errorf("the message is %q", message)
	}
	s.awaitEvent("NamespaceDeleted", "tidied")
	if agent := s.agent("tidied"); agent.Get(t.Context(), client.ObjectKey{Name: "tidied"}, kit.Namespace("tidied")) != nil {
		t.Error("the agent may not read its namespace while that is being deleted")
	}
	for _, work := range []*unstructured.Unstructured{alone, denied} {
		s.AwaitGone(work)
	}
	s.AwaitObject(both, "only the finalizer of the agent is removed", func() error {
		if got := both.GetFinalizers(); len(got) != 1 || got[0] != finalizer {
			return fmt.Errorf("the finalizers are %v", got)
		}
		return nil
	})
	s.awaitEvent("WorkHandedBack", "tidied")

	t.Log("the namespace, the permissions and the lease are made anew")
	s.release(both)
	s.awaitAccepted("tidied")
	s.Await("the namespace is another one", func(ctx context.Context) error {
		found := kit.Namespace("tidied")
		err := s.Get(ctx, client.ObjectKeyFromObject(found), found)
		if err == nil && found.UID == before["namespace"].GetUID() {
			err = kit.ErrNotYet
		}
		return err
	})
	s.Await("the hub has made the lease anew", func(ctx context.Context) error {
		return s.Get(ctx, client.ObjectKey{Namespace: "tidied", Name: clusterv1.ManagedClusterLeaseName}, &coordinationv1.Lease{})
	})
	if got, want := len(s.objects("tidied")), len(before); got != want {
		t.Errorf("the cluster has %d objects, want %d", got, want)
	}
}
