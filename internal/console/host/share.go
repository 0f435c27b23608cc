package host

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"sync"
	"time"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/internal/console/model"
	"github.com/berth-project/berth/internal/source/file"
)

// states shares a state among the users who see the same objects. A state that no user has any more is dropped.
type states struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]weak.Pointer[model.State]
}

func newStates() *states { return &states{known: map[[sha256.Size]byte]weak.Pointer[model.State]{}} }

// of returns the state of objects: the state of another user who sees the same, or a new state.
func (s *states) of(objects file.Objects, note string, now time.Time) *model.State {
	key := fingerprint(&objects, note)
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.known[key].Value(); found != nil {
		return found
	}
	for each, pointer := range s.known {
		if pointer.Value() == nil {
			delete(s.known, each)
		}
	}
	out := model.NewState(file.NewBundle(objects), versionOf(key), now, note)
	s.known[key] = weak.Make(out)
	return out
}

// versionOf returns the version of a state with a fingerprint. A counter would show each user how often the states of others change, and
// would be the same for different states on two replicas.
func versionOf(fingerprint [sha256.Size]byte) uint64 {
	const exact = 53                                               // bits of an integer that a browser reads exactly
	return binary.BigEndian.Uint64(fingerprint[:])>>(64-exact) | 1 // 0 is for pages without a state
}

// fingerprint is equal for the same objects in the same versions, in the same order, with the same note.
func fingerprint(objects *file.Objects, note string) [sha256.Size]byte {
	sum := sha256.New()
	write(sum, note)
	addAll(sum, objects.Clusters)
	addAll(sum, objects.Sets)
	addAll(sum, objects.Placements)
	addAll(sum, objects.Slices)
	addAll(sum, objects.WorkSets)
	return [sha256.Size]byte(sum.Sum(nil))
}

func addAll[T metav1.Object](to hash.Hash, objects []T) {
	write(to, "kind")
	for _, object := range objects {
		write(to, object.GetNamespace())
		write(to, object.GetName())
		write(to, string(object.GetUID()))
		write(to, object.GetResourceVersion())
	}
}

// write adds a text and its end.
func write(to hash.Hash, text string) {
	_, _ = io.WriteString(to, text) // a hash takes everything
	_, _ = io.WriteString(to, "\x00")
}
