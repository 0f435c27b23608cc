package registration

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/broadcast"
	"github.com/berth-project/berth/internal/agent/client"
)

const (
	// minLook and maxLook bound the time between two looks whether the hub serves ManagedClusterAddOns. It doubles with each look in vain.
	minLook, maxLook = 30 * time.Second, 10 * time.Minute
	maxDoublings     = 8
	// maxMessage bounds what is kept of a message, which is longer than those of the agent.
	maxMessage = 1024
)

// Source lists and watches what the hub has.
type Source interface {
	List(ctx context.Context, object client.Object, options metav1.ListOptions, into runtime.Object) error
	ListWatch(object client.Object, fields string, newList func() runtime.Object) client.Source
}

// Watcher follows the ManagedClusterAddOns of one cluster. It is safe for concurrent use. A change of their health alone is not sent.
type Watcher struct {
	broadcast.Broadcast

	Hub     Source
	Gate    Gate
	Cluster Cluster
	Clock   clock.Clock
	Random  func() float64
	// Name is the name of the cluster.
	Name string
	Log  *slog.Logger

	mu sync.Mutex
	// store has the objects as slim leaves them; nil while the hub is not watched.
	store cache.Store
}

// AddOns returns the add-ons whose health the agent writes, in no order.
func (w *Watcher) AddOns() []AddOn {
	w.mu.Lock()
	store := w.store
	w.mu.Unlock()
	if store == nil {
		return nil
	}
	var out []AddOn
	for _, object := range store.List() {
		if stored, ok := object.(*addonv1alpha1.ManagedClusterAddOn); ok {
			if found := addOnOf(stored); found.ByLease {
				out = append(out, found)
			}
		}
	}
	return out
}

// Run follows the add-ons until the context ends, while the hub accepts the cluster. A hub may not serve them, or not let the agent read
// them.
func (w *Watcher) Run(ctx context.Context) {
	failures, reported := 0, ""
	for ctx.Err() == nil {
		changed, state := w.Cluster.Changed(), w.Cluster.State()
		if !state.Granted() {
			failures = 0
			_ = backoff.SleepUntil(ctx, w.Clock, idle, changed) // the loop ends with the context
			continue
		}
		if w.Gate.Wait(ctx) != nil {
			return
		}
		began := w.Clock.Now()
		err := w.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && err.Error() != reported {
			reported = err.Error()
			w.Log.Info("the health of add-ons is not reported, because the hub does not let the agent read them", "error", err)
		}
		if !notServed(err) || w.Clock.Since(began) > maxLook {
			failures = 0
		}
		pause := min(minLook<<min(failures, maxDoublings), maxLook)
		failures++
		_ = backoff.Sleep(ctx, w.Clock, pause-time.Duration(w.Random()*float64(pause)/10)) // agents that started together spread
	}
}

// follow watches the add-ons until the hub does not serve them, or until the context ends.
func (w *Watcher) follow(ctx context.Context) error {
	object := client.AddOn(w.Name, "")
	// One request first: an informer would repeat it soon, and log each.
	if err := w.Hub.List(ctx, object, metav1.ListOptions{Limit: 1}, &addonv1alpha1.ManagedClusterAddOnList{}); err != nil {
		return err //nolint:wrapcheck // the client names the resource
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	source := w.Hub.ListWatch(object, "", func() runtime.Object { return &addonv1alpha1.ManagedClusterAddOnList{} })
	list := source.ListWithContextFunc
	source.ListWithContextFunc = func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		found, err := list(ctx, options)
		if notServed(err) {
			cancel(err)
		}
		return found, err
	}
	store, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source, ObjectType: &addonv1alpha1.ManagedClusterAddOn{}, Transform: slim,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { w.Send() }, UpdateFunc: w.updated, DeleteFunc: func(any) { w.Send() },
		},
	})
	w.use(store)
	defer w.use(nil)
	informer.RunWithContext(ctx)
	return context.Cause(ctx)
}

func (w *Watcher) use(store cache.Store) {
	w.mu.Lock()
	w.store = store
	w.mu.Unlock()
	w.Send()
}

// updated sends a change of anything but the health: the agent itself writes this one.
func (w *Watcher) updated(before, after any) {
	former, _ := before.(*addonv1alpha1.ManagedClusterAddOn)
	present, _ := after.(*addonv1alpha1.ManagedClusterAddOn)
	if former == nil || present == nil || addOnOf(former).identity() != addOnOf(present).identity() {
		w.Send()
	}
}

// identity returns the add-on without its health.
func (a AddOn) identity() AddOn {
	a.Health = Health{}
	return a
}

// notServed returns whether the hub does not serve the kind, or does not let the agent read it.
func notServed(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err)
}

// slim keeps of an object only what addOnOf reads.
func slim(object any) (any, error) {
	stored, ok := object.(*addonv1alpha1.ManagedClusterAddOn)
	if !ok {
		return object, nil
	}
	out := &addonv1alpha1.ManagedClusterAddOn{}
	out.Namespace, out.Name, out.UID = stored.Namespace, stored.Name, stored.UID
	out.ResourceVersion, out.DeletionTimestamp = stored.ResourceVersion, stored.DeletionTimestamp
	out.Spec.InstallNamespace = stored.Spec.InstallNamespace
	out.Status.Namespace, out.Status.HealthCheck = stored.Status.Namespace, stored.Status.HealthCheck
	for i := range stored.Status.Conditions {
		if condition := stored.Status.Conditions[i]; condition.Type == addonv1alpha1.ManagedClusterAddOnConditionAvailable {
			condition.Message = strings.Clone(condition.Message[:min(len(condition.Message), maxMessage)])
			out.Status.Conditions = append(out.Status.Conditions, condition)
			break
		}
	}
	return out, nil
}
