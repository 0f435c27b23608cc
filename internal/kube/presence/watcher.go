package presence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// confirmAge is how long a live read of the definitions counts.
const confirmAge = time.Second

// errGone is the error of a live read that does not find every definition.
var errGone = errors.New("the hub lacks the definition, or is deleting it")

// Watcher follows some definitions of a hub by a watch of the metadata of all. It is safe for concurrent use.
type Watcher struct {
	definitions metadata.ResourceInterface
	clock       clock.PassiveClock

	mu sync.Mutex
	// there has for each followed definition that was there once whether it is there now, and is not being deleted.
	there   map[string]bool
	follows []string
	changed func()

	confirming  sync.Mutex
	confirmedAt time.Time
}

// NewWatcher returns a watcher of the definitions of some names. It sends no request before Run.
func NewWatcher(hub *rest.Config, at clock.PassiveClock, names ...string) (*Watcher, error) {
	metadataClient, err := metadata.NewForConfig(hub)
	if err != nil {
		return nil, fmt.Errorf("making a client of definitions: %w", err)
	}
	resource := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	return &Watcher{
		definitions: metadataClient.Resource(resource), clock: at, there: map[string]bool{}, follows: names, changed: func() {},
	}, nil
}

// Run follows the definitions until the context ends. It calls changed after each change of what Gone returns.
func (w *Watcher) Run(ctx context.Context, changed func()) {
	w.changed = changed
	lists := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return w.definitions.List(ctx, options) //nolint:wrapcheck // the reflector logs it
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return w.definitions.Watch(ctx, options) //nolint:wrapcheck // the reflector logs it
		},
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: lists, ObjectType: &metav1.PartialObjectMetadata{}, Transform: onlyPresence,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(found any) { w.observe(found, true) },
			UpdateFunc: func(_, found any) { w.observe(found, true) },
			DeleteFunc: func(found any) { w.observe(found, false) },
		},
	})
	informer.RunWithContext(ctx)
}

// onlyPresence keeps what observe reads.
func onlyPresence(found any) (any, error) {
	header, ok := found.(*metav1.PartialObjectMetadata)
	if !ok {
		return found, nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: header.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Name: header.Name, UID: header.UID, ResourceVersion: header.ResourceVersion, DeletionTimestamp: header.DeletionTimestamp,
	}}, nil
}

// observe records a definition.
func (w *Watcher) observe(found any, exists bool) {
	if gone, ok := found.(cache.DeletedFinalStateUnknown); ok {
		found = gone.Obj
	}
	header, ok := found.(*metav1.PartialObjectMetadata)
	if !ok || !slices.Contains(w.follows, header.Name) {
		return
	}
	there := exists && header.DeletionTimestamp.IsZero()
	w.mu.Lock()
	before, known := w.there[header.Name]
	w.there[header.Name] = there
	w.mu.Unlock()
	if before != there || !known {
		w.changed()
	}
}

// Gone returns the followed definitions that were there once, and are missing or being deleted, in the order of their names.
func (w *Watcher) Gone() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for name, there := range w.there {
		if !there {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Confirm reads each definition that was there once, and returns an error where one is missing or being deleted, or where it cannot be
// read. A read counts for a second, so that many deletions share it.
func (w *Watcher) Confirm(ctx context.Context) error {
	w.confirming.Lock()
	defer w.confirming.Unlock()
	begun := w.clock.Now()
	if !w.confirmedAt.IsZero() && begun.Sub(w.confirmedAt) < confirmAge {
		return nil
	}
	for _, name := range w.known() {
		found, err := w.definitions.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || err == nil && !found.DeletionTimestamp.IsZero():
			return fmt.Errorf("%s: %w", name, errGone)
		case apierrors.IsForbidden(err):
			return nil // the manager reports a missing permission
		case err != nil:
			return fmt.Errorf("reading the definition %s: %w", name, err)
		}
	}
	w.confirmedAt = begun
	return nil
}

// known returns the followed definitions that were there once.
func (w *Watcher) known() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for name := range w.there {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
