package delivery

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestWorksEndByThemselves has works with a time to live. The first has finished, the second has not. The first is then a deleted work of a
// cluster that does not exist.
func TestWorksEndByThemselves(t *testing.T) {
	f := newFleet(t, 1)
	hubtest.StartManager(t, shared, hubtest.ManagerOptions{Args: []string{"--controllers=replicaset", "--work-cleanup-timeout=1s"}})
	create := func(name string, status metav1.ConditionStatus) *workv1.ManifestWork {
		ttl := int64(1)
		work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Namespace: f.clusters[0], Name: name,
			Finalizers: []string{workv1.ManifestWorkFinalizer},
		}}
		work.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{
			Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}}`),
		}}}
		work.Spec.DeleteOption = &workv1.DeleteOption{TTLSecondsAfterFinished: &ttl}
		f.MustCreate(work)
		work.Status.Conditions = []metav1.Condition{{
			Type: workv1.WorkComplete, Status: status, Reason: "Test", ObservedGeneration: work.Generation,
			LastTransitionTime: metav1.NewTime(time.Now()),
		}}
		f.MustUpdateStatus(work)
		return work
	}
	finished, running := create("finished", metav1.ConditionTrue), create("running", metav1.ConditionFalse)
	kit.Await(t, "the finished work is deleted", func(ctx context.Context) error {
		err := f.Get(ctx, client.ObjectKeyFromObject(finished), finished)
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("%w: the finished work is there, deleted at %v", errors.Join(errNotYet, err), finished.DeletionTimestamp)
		}
		return nil
	})
	if err := f.Get(t.Context(), client.ObjectKeyFromObject(running), running); err != nil || running.DeletionTimestamp != nil {
		t.Errorf("the work that has not finished is deleted at %v: %v", running.DeletionTimestamp, err)
	}
}
