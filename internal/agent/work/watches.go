package work

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/remote"
)

// maxWatches bounds the watches. Further objects are compared at intervals.
const maxWatches = 200

// watches follows the labelled objects of each resource in use, and single objects that carry no label. It keeps nothing of them
// but name and version.
type watches struct {
	member  *remote.Member
	changed func(id object.ID, version string)

	mu      sync.Mutex
	running sync.WaitGroup
	// started has the watches by what they follow: an ID without a name is the labelled objects of a resource.
	started map[object.ID]*follower
	closed  bool
	// reported has the resources that were reported as not watched.
	reported map[object.ID]bool
}

// follower is one running watch.
type follower struct {
	informer cache.Controller
	stop     func()
}

func newWatches(ctx context.Context, member *remote.Member, changed func(object.ID, string)) *watches {
	out := &watches{member: member, changed: changed, started: map[object.ID]*follower{}, reported: map[object.ID]bool{}}
	context.AfterFunc(ctx, out.endAll)
	return out
}

// labelled returns what the watch of the labelled objects of a resource follows.
func labelled(id object.ID) object.ID { return object.ID{Group: id.Group, Resource: id.Resource} }

// ensure starts the watch of the labelled objects of a resource unless it runs.
func (w *watches) ensure(id object.ID, version string) {
	w.follow(labelled(id), func() client.Source { return w.member.Labelled(id, version) })
}

// ensureNamed starts the watch of one object unless it runs.
func (w *watches) ensureNamed(id object.ID, version string) {
	w.follow(id, func() client.Source { return w.member.Named(id, version) })
}

func (w *watches) follow(id object.ID, source func() client.Source) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.started[id] != nil || len(w.started) >= maxWatches {
		return
	}
	handle := func(found any) {
		if gone, ok := found.(cache.DeletedFinalStateUnknown); ok {
			found = gone.Obj
		}
		if header, ok := found.(*metav1.PartialObjectMetadata); ok {
			w.changed(object.ID{Group: id.Group, Resource: id.Resource, Namespace: header.Namespace, Name: header.Name}, header.ResourceVersion)
		}
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source(), ObjectType: &metav1.PartialObjectMetadata{}, Transform: onlyHeader,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: handle, UpdateFunc: func(_, after any) { handle(after) },
			DeleteFunc: func(found any) { // a deleted object may have the version that the agent read last
				if header, ok := found.(*metav1.PartialObjectMetadata); ok {
					header = header.DeepCopy()
					header.ResourceVersion = ""
					found = header
				}
				handle(found)
			},
		},
	})
	ended := make(chan struct{})
	w.started[id] = &follower{informer: informer, stop: func() { close(ended) }}
	w.running.Go(func() { informer.Run(ended) })
}

// endAll ends every watch, and lets no other begin.
func (w *watches) endAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, started := range w.started {
		started.stop()
	}
	clear(w.started)
}

// endNamed ends the watches of single objects. The labelled objects of their resources stay watched.
func (w *watches) endNamed(ids []object.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		if started := w.started[id]; started != nil && id.Name != "" {
			started.stop()
			delete(w.started, id)
		}
	}
}

// synced returns whether the labelled objects of a resource are watched, and syncedNamed whether one object is.
func (w *watches) synced(id object.ID) bool { return w.syncedNamed(labelled(id)) }

func (w *watches) syncedNamed(id object.ID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	started := w.started[id]
	return started != nil && started.informer.HasSynced()
}

// firstReport returns whether a resource is reported as not watched for the first time.
func (w *watches) firstReport(resource object.ID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := !w.reported[resource]
	w.reported[resource] = true
	return first
}

// wait returns when all watches have ended.
func (w *watches) wait() { w.running.Wait() }

func onlyHeader(found any) (any, error) {
	if header, ok := found.(*metav1.PartialObjectMetadata); ok {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: header.Namespace, Name: header.Name, UID: header.UID, ResourceVersion: header.ResourceVersion,
		}}, nil
	}
	return found, nil
}
