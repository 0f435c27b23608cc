package live

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/internal/kube/builtin"
)

// TestBuiltInSetsStay creates, edits, deletes and restores the set global, with and without a controller that restores it.
func TestBuiltInSetsStay(t *testing.T) {
	must := builtin.Set(clusterv1beta2.GlobalClusterSetName)
	edited := must.DeepCopy()
	edited.Spec.ClusterSelector.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	frozen := edited.DeepCopy()
	frozen.Annotations = map[string]string{clusterv1beta2.AutoUpdateAnnotation: "false"}
	steps := []struct {
		sentence string
		do       func(*harness)
		// kept and left are whether c1 is a member afterwards: kept if the set is restored, left if it is not.
		kept, left bool
		// silent is set if restoring the set enqueues no placement.
		silent bool
	}{
		{"it is not there yet", func(*harness) {}, true, false, true},
		{"it is stored", func(b *harness) { b.SetSet(nil, must) }, true, true, false},
		{"it is edited", func(b *harness) { b.SetSet(must, edited) }, true, false, true},
		{"it is put back", func(b *harness) { b.SetSet(edited, must) }, true, true, true},
		{"it is deleted", func(b *harness) { b.DeleteSet(must) }, true, false, true},
		{"it is made again", func(b *harness) { b.SetSet(nil, must) }, true, true, false},
		{"it is edited, as its annotation allows", func(b *harness) { b.SetSet(must, frozen) }, false, false, false},
		{"that one is deleted", func(b *harness) { b.DeleteSet(frozen) }, true, false, false},
	}
	for name, restored := range map[string]bool{"it is restored": true, "it is not restored": false} {
		t.Run(name, func(t *testing.T) {
			b := newHarness(t)
			b.SetBinding(binding(clusterv1beta2.GlobalClusterSetName))
			if restored {
				b.AssumeBuiltInSets()
			}
			for _, step := range steps {
				b.enqueued = nil
				step.do(b)
				if want := restored && step.kept || !restored && step.left; b.inGlobalSet("c1") != want {
					t.Errorf("%s: c1 is a member: %t, want %t", step.sentence, !want, want)
				}
				if restored && step.silent && len(b.enqueued) > 0 {
					t.Errorf("%s: enqueued %v, want nothing", step.sentence, b.enqueued)
				}
			}
		})
	}
}

// inGlobalSet returns whether a cluster is a member of the set global.
func (h *harness) inGlobalSet(cluster string) bool {
	snapshot, _ := h.Fleet.Snapshot(enginetest.Epoch)
	id, _ := snapshot.ID(cluster)
	set, there := snapshot.Set(clusterv1beta2.GlobalClusterSetName)
	return there && set.Has(snapshot.Cluster(id))
}
