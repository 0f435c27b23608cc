package memberwork

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestAnEvictionHasThePolicyAndTheExecutorOfTheWork changes both, and loses the works on the hub. Only the last executor may delete the
// object of the first work; the second work orphans its object.
func TestAnEvictionHasThePolicyAndTheExecutorOfTheWork(t *testing.T) {
	f := newFixture(t)
	f.grace = time.Second
	f.start()
	f.permit("former", "get", "list", "watch", "create", "patch")
	f.permit("present", "get", "list", "watch", "create", "patch", "delete")
	executed, orphaned, stays := f.numbered(0), f.numbered(1), f.numbered(2)
	executed.Spec.Executor = f.executor("former")
	for _, each := range []*workv1.ManifestWork{executed, orphaned, stays} {
		f.deliver(each)
	}
	f.change(executed, func(w *workv1.ManifestWork) { w.Spec.Executor = f.executor("present") })
	f.change(orphaned, func(w *workv1.ManifestWork) {
		w.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	})
	for _, each := range []*workv1.ManifestWork{executed, orphaned} {
		f.awaitCondition(each, workv1.WorkApplied, metav1.ConditionTrue)
	}
	kept := f.configMap("c1")
	if f.on.MustRead(kept); kept.Labels[workv1.RecordLabel] == "" || len(kept.OwnerReferences) > 0 {
		t.Errorf("the object that is to stay has the marks %v %v", kept.Labels, kept.OwnerReferences)
	}
	f.lose(executed)
	f.lose(orphaned)
	f.start()
	kit.Await(f.t, "the evicted works leave nothing", func(ctx context.Context) error {
		for _, name := range []string{"w0", "w1"} {
			if record, err := f.record(ctx, name); err == nil {
				return fmt.Errorf("%w: the record is %+v", errBoom, record)
			}
		}
		return f.gone(ctx, f.on, f.configMap("c0"))
	})
	if f.on.MustRead(kept); kept.Labels[workv1.RecordLabel] != "" || len(kept.OwnerReferences) > 0 {
		t.Errorf("the object that stays has the marks %v %v", kept.Labels, kept.OwnerReferences)
	}
}
