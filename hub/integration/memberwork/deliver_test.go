package memberwork

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const configA = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"NS","name":"a"},"data":{"k":"1"}}`

// TestAWorkIsAppliedChangedAndDeleted follows one work through its life.
func TestAWorkIsAppliedChangedAndDeleted(t *testing.T) {
	f := newFixture(t)
	w := f.newWork("w", configA, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"NS","name":"b"}}`)
	f.deliver(w)
	f.awaitCondition(w, workv1.WorkAvailable, metav1.ConditionTrue)
	f.awaitCondition(w, workv1.WorkProgressing, metav1.ConditionFalse)
	a := f.configMap("a")
	f.on.MustRead(a)
	if diff := cmp.Diff(map[string]string{"k": "1"}, a.Data); diff != "" {
		t.Errorf("the data (-want +got):\n%s", diff)
	}
	f.change(w, func(w *workv1.ManifestWork) {
		w.Spec.Workload.Manifests = []workv1.Manifest{
			f.manifest(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"NS","name":"a"},"data":{"k":"2"}}`),
		}
	})
	f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionTrue)
	f.on.AwaitGone(f.configMap("b"))
	f.on.MustRead(a)
	if a.Data["k"] != "2" {
		t.Errorf("the data is %v", a.Data)
	}
	f.remove(w)
	if err := f.gone(t.Context(), f.on, &corev1.ConfigMap{ObjectMeta: a.ObjectMeta}); err != nil {
		t.Error(err)
	}
	if _, err := f.record(t.Context(), "w"); err == nil {
		t.Error("the record is left")
	}
}

// TestAReadOnlyObjectIsWatched changes an object that the work only reports. The report follows long before the agent would read it again.
func TestAReadOnlyObjectIsWatched(t *testing.T) {
	f := newFixture(t)
	a := f.configMap("a")
	a.Data = map[string]string{"k": "0"}
	f.create(f.on, a)
	w := f.newWork("w", configA)
	w.Spec.ManifestConfigs = []workv1.ManifestConfigOption{{
		ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: f.cluster, Name: "a"},
		UpdateStrategy:     &workv1.UpdateStrategy{Type: "ReadOnly"},
		FeedbackRules:      []workv1.FeedbackRule{{Type: "JSONPaths", JSONPaths: []workv1.JSONPath{{Name: "k", Path: ".data.k"}}}},
	}}
	f.deliver(w)
	a.Data["k"] = "2"
	f.on.MustUpdate(a)
	kit.AwaitWithin(t, 45*time.Second, "the feedback follows the object", func(ctx context.Context) error {
		if err := f.hub.Get(ctx, client.ObjectKeyFromObject(w), w); err != nil {
			return err
		}
		if values := w.Status.ResourceStatus.Manifests[0].StatusFeedbacks.Values; len(values) != 1 || *values[0].Value.String != "2" {
			return fmt.Errorf("%w: the feedback is %+v", errBoom, values)
		}
		return nil
	})
	if f.on.MustRead(a); a.Labels != nil || a.Data["k"] != "2" {
		t.Errorf("the agent has written %v %v", a.Labels, a.Data)
	}
}
