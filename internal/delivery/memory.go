package delivery

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// Memory holds the last writes of this process to the works of one set until the cache shows them. It is bounded by the works of the
// set, and by time. The zero value is empty. It is safe for concurrent use.
type Memory struct {
	mu sync.Mutex
	// stored are works that were created or changed, deleted the uids of works that were deleted without a trace.
	stored  map[types.NamespacedName]ownWrite
	deleted map[types.NamespacedName]types.UID
}

// ownWrite is a work as this process stored it, and when.
type ownWrite struct {
	work *workv1.ManifestWork
	at   time.Time
}

// maxPending bounds how long a write counts that the cache does not show: a work that was created and deleted while a watch was broken
// is never shown. The work is then created again.
const maxPending = 2 * time.Minute

// Stored records a work as the API server returned it from a write.
func (m *Memory) Stored(work *workv1.ManifestWork, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stored == nil {
		m.stored = map[types.NamespacedName]ownWrite{}
	}
	m.stored[keyOf(work)] = ownWrite{Strip(work.DeepCopy()), now}
}

// Deleted records that a work was deleted. Its object may stay for its finalizers; the cache shows that later.
func (m *Memory) Deleted(work types.NamespacedName, uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.deleted == nil {
		m.deleted = map[types.NamespacedName]types.UID{}
	}
	m.deleted[work] = uid
	delete(m.stored, work)
}

// Overlay returns the works of a cache as they are most probably stored. It drops the writes that the cache shows.
func (m *Memory) Overlay(cached []*workv1.ManifestWork, now time.Time) []*workv1.ManifestWork {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*workv1.ManifestWork, 0, len(cached)+len(m.stored))
	pending, gone := maps.Clone(m.stored), maps.Clone(m.deleted)
	for _, work := range cached {
		key := keyOf(work)
		delete(gone, key)
		switch written := m.stored[key].work; {
		case m.deleted[key] == work.UID && work.DeletionTimestamp.IsZero():
			work = work.DeepCopy()
			work.DeletionTimestamp = &work.CreationTimestamp // only whether it is set counts
		case m.deleted[key] != "":
			delete(m.deleted, key) // the cache shows the deletion, or a later work of that name
		case written == nil:
		case newer(written, work):
			work = written
		default:
			delete(m.stored, key)
		}
		delete(pending, key)
		out = append(out, work)
	}
	for key := range gone {
		delete(m.deleted, key) // the cache shows that it is gone
	}
	for key, written := range pending {
		if now.Sub(written.at) > maxPending {
			delete(m.stored, key)
			continue
		}
		out = append(out, written.work)
	}
	slices.SortFunc(out, func(a, b *workv1.ManifestWork) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return out
}

// Drop removes the writes of a work with a uid, which the cache no longer has.
func (m *Memory) Drop(work types.NamespacedName, uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if written, has := m.stored[work]; has && written.work.UID == uid {
		delete(m.stored, work)
	}
	if m.deleted[work] == uid {
		delete(m.deleted, work)
	}
}

// Len returns how many writes the cache does not show yet.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.stored) + len(m.deleted)
}

func keyOf(work *workv1.ManifestWork) types.NamespacedName {
	return types.NamespacedName{Namespace: work.Namespace, Name: work.Name}
}

// newer reports whether a is a later version than b.
func newer(a, b *workv1.ManifestWork) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order > 0
}
