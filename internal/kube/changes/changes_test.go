package changes_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/kube/changes"
)

func TestWhichUpdatesPass(t *testing.T) {
	labels := changes.Of(func(before, after *clusterv1.ManagedCluster) bool { return before.Labels["a"] != after.Labels["a"] })
	alter := map[string]func(*clusterv1.ManagedCluster){
		"nothing":    func(*clusterv1.ManagedCluster) {},
		"label":      func(c *clusterv1.ManagedCluster) { c.Labels = map[string]string{"a": "b"} },
		"uid":        func(c *clusterv1.ManagedCluster) { c.UID = "other" },
		"generation": func(c *clusterv1.ManagedCluster) { c.Generation++ },
		"deletion":   func(c *clusterv1.ManagedCluster) { now := metav1.Now(); c.DeletionTimestamp = &now },
	}
	for name, c := range map[string]struct {
		filter predicate.Predicate
		passes []string
	}{
		"labels":    {labels, []string{"label"}},
		"existence": {changes.Existence(), []string{"uid"}},
		"spec":      {changes.Spec(), []string{"uid", "generation", "deletion"}},
	} {
		wanted := map[string]bool{}
		for _, change := range c.passes {
			wanted[change] = true
		}
		for change, apply := range alter {
			before := &clusterv1.ManagedCluster{}
			after := before.DeepCopy()
			apply(after)
			if got := c.filter.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != wanted[change] {
				t.Errorf("%s: an update of %s passes: %t", name, change, got)
			}
		}
		if !c.filter.Create(event.CreateEvent{}) || !c.filter.Delete(event.DeleteEvent{}) {
			t.Errorf("%s: a creation or a deletion does not pass", name)
		}
	}
	if !labels.Update(event.UpdateEvent{ObjectOld: &clusterv1beta2.ManagedClusterSet{}, ObjectNew: &clusterv1beta2.ManagedClusterSet{}}) {
		t.Error("an object of another type does not pass")
	}
}
