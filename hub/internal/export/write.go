package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	// fieldManager is the name of the export in the managed fields of objects.
	fieldManager = "berth-hub-export"
	// writers is how many objects are written concurrently.
	writers = 16
	// corrections bounds how often an object is written that the admission of the target changes.
	corrections = 3
	// patience is how long a write is repeated that the target refuses for a moment, such as while a manager starts that has the webhooks.
	patience = 3 * time.Minute
)

var errForeign = errors.New("the target has an object of this name that is not of this hub")

// writer writes objects to the target.
type writer struct {
	target dynamic.Interface
	clock  clock.Clock

	mu sync.Mutex
	// uids are the UIDs on the target by those on the source.
	uids map[types.UID]types.UID
}

func newWriter(target dynamic.Interface, at clock.Clock) *writer {
	return &writer{target: target, clock: at, uids: map[types.UID]types.UID{}}
}

func (w *writer) uid(source types.UID) (types.UID, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out, ok := w.uids[source]
	return out, ok
}

// writeAll writes all objects, and then deletes those that were being deleted: their finalizers stay until the agents have done their part.
func (w *writer) writeAll(ctx context.Context, from inventory) error {
	for _, k := range kinds() {
		if err := w.each(ctx, k, from[k.name], w.write); err != nil {
			return err
		}
	}
	for _, k := range kinds() {
		if err := w.each(ctx, k, from[k.name], w.deleteLeaving); err != nil {
			return err
		}
	}
	return nil
}

// each calls do for every object, one after the other in each namespace, the oldest first.
func (w *writer) each(ctx context.Context, k kind, objects []object, do func(context.Context, kind, object) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for start := 0; start < len(objects); {
		end := start + 1
		for end < len(objects) && objects[start].GetNamespace() != "" && objects[end].GetNamespace() == objects[start].GetNamespace() {
			end++
		}
		part := objects[start:end]
		group.Go(func() error { return w.inOrder(ctx, k, part, do) })
		start = end
	}
	return group.Wait() //nolint:wrapcheck // each error names its object
}

// inOrder calls do for the objects of a namespace. Of two works with one object on the member, the older one owns it, and within a second
// the first by name. So a younger work with an earlier name waits for the next second.
func (w *writer) inOrder(ctx context.Context, k kind, objects []object, do func(context.Context, kind, object) error) error {
	var rivals *rivalries
	if k.name == kindWork && len(objects) > 1 {
		rivals = newRivalries()
	}
	for _, each := range objects {
		if rivals != nil && rivals.overtakes(each) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-w.clock.After(time.Second + 100*time.Millisecond):
			}
			rivals = newRivalries()
			rivals.overtakes(each)
		}
		if err := w.persist(ctx, k, each, do); err != nil {
			return err
		}
	}
	return nil
}

// persist repeats a write while the target refuses it for a moment.
func (w *writer) persist(ctx context.Context, k kind, source object, do func(context.Context, kind, object) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, time.Second, patience, true, func(ctx context.Context) (bool, error) {
		err := do(ctx, k, source)
		if err == nil || !passing(err) {
			return true, err
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		return false, nil
	})
	if err != nil && last != nil && wait.Interrupted(err) {
		err = last
	}
	if err != nil {
		return fmt.Errorf("writing %s %s to the target: %w", k.name, keyOf(source), err)
	}
	return nil
}

// passing returns whether a write may succeed later without a change.
func passing(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsInternalError(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || utilnet.IsConnectionRefused(err) ||
		utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) || utilnet.IsTimeout(err) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF)
}

// write makes the target have an object with its status, and records its UID there.
func (w *writer) write(ctx context.Context, k kind, source object) error {
	at := w.target.Resource(k.resource).Namespace(source.GetNamespace())
	stored, err := at.Create(ctx, moved(k, source, 1, w.uid), metav1.CreateOptions{FieldManager: fieldManager})
	if apierrors.IsAlreadyExists(err) {
		stored, err = at.Get(ctx, source.GetName(), metav1.GetOptions{})
	}
	if err != nil {
		return err //nolint:wrapcheck // the caller names the object
	}
	if registration.OriginalUID(stored) != registration.OriginalUID(source) {
		if !mayExist(k, source, stored) {
			return errForeign
		}
	}
	if k.name == kindNamespace {
		return nil
	}
	if stored, err = w.correct(ctx, at, k, source, stored); err != nil {
		return err
	}
	w.mu.Lock()
	w.uids[source.GetUID()] = stored.GetUID()
	w.mu.Unlock()
	status := movedStatus(source, stored.GetGeneration())
	if !k.status || status == nil || equality.Semantic.DeepEqual(stored.Object["status"], any(status)) {
		return nil
	}
	stored.Object["status"] = status
	_, err = at.UpdateStatus(ctx, stored, metav1.UpdateOptions{FieldManager: fieldManager})
	return err //nolint:wrapcheck // the caller names the object
}

// correct updates an object until it is as it was on the source. The admission of the target completes new objects, such as clusters by the
// taint of those that have not joined. A field that the target sets again each time stays.
func (w *writer) correct(ctx context.Context, at dynamic.ResourceInterface, k kind, source, stored object) (object, error) {
	for range corrections {
		want := moved(k, source, stored.GetGeneration(), w.uid)
		if asWanted(stored, want) || !stored.GetDeletionTimestamp().IsZero() {
			return stored, nil
		}
		want.SetResourceVersion(stored.GetResourceVersion())
		want.SetManagedFields(nil)
		var err error
		if stored, err = at.Update(ctx, want, metav1.UpdateOptions{FieldManager: fieldManager}); err != nil {
			return nil, err //nolint:wrapcheck // the caller names the object
		}
	}
	return stored, nil
}

// deleteLeaving deletes an object that was being deleted on the source.
func (w *writer) deleteLeaving(ctx context.Context, k kind, source object) error {
	uid, written := w.uid(source.GetUID())
	if source.GetDeletionTimestamp().IsZero() || !written || k.name == kindNamespace {
		return nil
	}
	err := w.target.Resource(k.resource).Namespace(source.GetNamespace()).Delete(ctx, source.GetName(), metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid},
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err //nolint:wrapcheck // the caller names the object
}
