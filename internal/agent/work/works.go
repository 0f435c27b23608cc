package work

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/work/queue"
)

// works follows the works of one cluster on the hub.
type works struct {
	store    cache.Store
	informer cache.Controller
}

func newWorks(hub *client.Client, cluster string, changed func(name string, priority queue.Priority)) *works {
	notify := func(found any) {
		if gone, ok := found.(cache.DeletedFinalStateUnknown); ok {
			found = gone.Obj
		}
		if work, ok := found.(*workv1.ManifestWork); ok {
			changed(work.Name, queue.News)
		}
	}
	added := func(found any) {
		if work, ok := found.(*workv1.ManifestWork); ok {
			changed(work.Name, firstLook(work))
		}
	}
	source := hub.ListWatch(client.ManifestWork(cluster, ""), "", func() runtime.Object { return &workv1.ManifestWorkList{} })
	out := &works{}
	out.store, out.informer = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source, ObjectType: &workv1.ManifestWork{}, Transform: dropManagedFields,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: added, DeleteFunc: notify,
			UpdateFunc: func(before, after any) {
				if !onlyStatus(before, after) {
					notify(after)
				}
			},
		},
	})
	return out
}

// firstLook returns how urgent a work is that the agent sees for the first time. After a restart of the agent most works are reported as
// applied. They come last, so that new works do not wait for them.
func firstLook(work *workv1.ManifestWork) queue.Priority {
	applied := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkApplied)
	if work.DeletionTimestamp == nil && applied != nil && applied.Status == metav1.ConditionTrue &&
		applied.ObservedGeneration == work.Generation {
		return queue.Routine
	}
	return queue.News
}

// onlyStatus returns whether two versions differ in nothing that a pass reads. The agent itself writes the status.
func onlyStatus(before, after any) bool {
	was, ok := before.(*workv1.ManifestWork)
	is, ok2 := after.(*workv1.ManifestWork)
	return ok && ok2 && was.UID == is.UID && was.Generation == is.Generation &&
		was.DeletionTimestamp.Equal(is.DeletionTimestamp) && len(was.Finalizers) == len(is.Finalizers)
}

func dropManagedFields(found any) (any, error) {
	if work, ok := found.(*workv1.ManifestWork); ok {
		work.ManagedFields = nil
		delete(work.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
	}
	return found, nil
}

func (w *works) run(ctx context.Context) { w.informer.RunWithContext(ctx) }

// awaitSync returns whether all works were listed once; false when the context ends before.
func (w *works) awaitSync(ctx context.Context, c clock.Clock) bool {
	for !w.informer.HasSynced() {
		if backoff.Sleep(ctx, c, 10*time.Millisecond) != nil {
			return false
		}
	}
	return ctx.Err() == nil
}

// get returns a work; nil where the hub has none. It is read-only.
func (w *works) get(cluster, name string) *workv1.ManifestWork {
	found, ok, err := w.store.GetByKey(cluster + "/" + name)
	if err != nil || !ok {
		return nil
	}
	work, _ := found.(*workv1.ManifestWork)
	return work
}

// all returns every work. They are read-only.
func (w *works) all() []*workv1.ManifestWork {
	var out []*workv1.ManifestWork
	for _, found := range w.store.List() {
		if work, ok := found.(*workv1.ManifestWork); ok {
			out = append(out, work)
		}
	}
	return out
}

func (w *works) empty() bool { return len(w.store.ListKeys()) == 0 }
