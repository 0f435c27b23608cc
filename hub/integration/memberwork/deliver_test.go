package memberwork

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
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
	f.read(a)
	if diff := cmp.Diff(map[string]string{"k": "1"}, a.Data); diff != "" {
		t.Errorf("the data (-want +got):\n%s", diff)
	}
	f.change(w, func(w *workv1.ManifestWork) {
		w.Spec.Workload.Manifests = []workv1.Manifest{f.manifest(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"NS","name":"a"},"data":{"k":"2"}}`)}
	})
	f.awaitCondition(w, workv1.WorkApplied, metav1.ConditionTrue)
	f.eventually(func(ctx context.Context) error { return f.gone(ctx, f.on, f.configMap("b")) })
	f.read(a)
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
