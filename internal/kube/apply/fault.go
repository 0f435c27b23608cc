package apply

import (
	"math"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berth-project/berth/internal/kube/evidence"
	"github.com/berth-project/berth/internal/kube/when"
)

const (
	// firstRetry and lastRetry bound the delay after a refusal. It doubles each time.
	firstRetry, lastRetry = time.Second, 5 * time.Minute
	// lastConflictRetry bounds the delay after a conflict, which starts with ConflictRetry.
	lastConflictRetry = 5 * time.Second
)

// Faults holds the refusals of the API server for the clusters of one owner, until the writes succeed. It is bounded by the clusters, and
// by time. The zero value is empty. It is safe for concurrent use.
type Faults struct {
	mu     sync.Mutex
	faults map[string]fault
}

// fault is a refusal with the number of attempts.
type fault struct {
	evidence.Fault

	attempts int
}

// Settle records the outcome of a write for a cluster. Hash is that of what the write stores, err is nil after success, and message is what
// a user reads of it.
func (f *Faults) Settle(cluster, hash string, err error, message string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		delete(f.faults, cluster)
		return
	}
	before, known := f.faults[cluster]
	if !known || before.Hash != hash {
		before = fault{Fault: evidence.Fault{Hash: hash, Since: now}}
	}
	before.attempts++
	before.Permanent, before.Message = Refused(err), message
	before.Retry = now.Add(backoff(before.attempts, firstRetry, lastRetry))
	if apierrors.IsConflict(err) {
		before.Retry = now.Add(backoff(before.attempts, ConflictRetry, lastConflictRetry))
	}
	if f.faults == nil {
		f.faults = map[string]fault{}
	}
	f.faults[cluster] = before
}

// ByCluster returns the faults for a plan. It drops those of writes that no plan repeats any more.
func (f *Faults) ByCluster(now time.Time) map[string]evidence.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make(map[string]evidence.Fault, len(f.faults))
	for cluster, found := range f.faults {
		if now.Sub(found.Retry) > lastRetry {
			delete(f.faults, cluster)
			continue
		}
		out[cluster] = found.Fault
	}
	return out
}

// NextRetry returns how long after now the next refused write is sent again; 0 without one.
func (f *Faults) NextRetry(now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var delays []time.Duration
	for _, found := range f.faults {
		delays = append(delays, found.Retry.Sub(now))
	}
	return when.Shortest(delays...)
}

// Clear drops all faults.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.faults)
}

// Delays reports whether the last write for a cluster failed a moment ago.
func (f *Faults) Delays(cluster string, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	found, failed := f.faults[cluster]
	return failed && now.Before(found.Retry)
}

// backoff returns the delay after a number of attempts.
func backoff(attempts int, first, last time.Duration) time.Duration {
	return min(last, first*time.Duration(math.Pow(2, float64(min(attempts-1, 16)))))
}

// Refused reports whether the API server refused the object itself: the same write will be refused again.
func Refused(err error) bool {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return false
	}
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsAlreadyExists(err)
}
