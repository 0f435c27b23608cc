package replicaset

import (
	"context"
	"math"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery"
	"github.com/berth-project/berth/internal/telemetry"
)

const (
	// firstRetry and lastRetry bound the delay after a refusal. It doubles each time.
	firstRetry, lastRetry = time.Second, 5 * time.Minute
	// lastConflictRetry bounds the delay after a conflict.
	lastConflictRetry = 5 * time.Second
)

// setState is what the process holds of one set between two passes. One pass of a set runs at a time; its writes run concurrently.
type setState struct {
	memory delivery.Memory

	mu sync.Mutex
	// own is the set as this process last stored it; nil without a write.
	own *workv1alpha1.ManifestWorkReplicaSet
	// hash is the hash of the template of one generation.
	hash       string
	hashOf     types.UID
	generation int64
	faults     map[string]fault
	// renderings are of the last pass; nil before the first.
	renderings *renderings
	// observed is what the metrics report of the last plan.
	observed telemetry.DeliveryState
	// reported is when the status was last written.
	reported time.Time
}

// fault is a refusal with the number of attempts.
type fault struct {
	delivery.Fault

	attempts int
}

func newSetState() *setState { return &setState{faults: map[string]fault{}} }

// latest returns the set as it is most probably stored: the cached one, or the last own write until the cache shows it.
func (s *setState) latest(cached *workv1alpha1.ManifestWorkReplicaSet) *workv1alpha1.ManifestWorkReplicaSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own != nil && s.own.UID == cached.UID {
		if order, err := resourceversion.CompareResourceVersion(s.own.ResourceVersion, cached.ResourceVersion); err == nil && order > 0 {
			return s.own
		}
	}
	if s.own = nil; s.hashOf != cached.UID {
		s.faults = map[string]fault{} // another set of the same name
	}
	return cached
}

func (s *setState) stored(set *workv1alpha1.ManifestWorkReplicaSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own = set
}

// templateHash returns the hash of the set's template. It is computed once a generation.
func (s *setState) templateHash(set *workv1alpha1.ManifestWorkReplicaSet) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hash != "" && s.hashOf == set.UID && s.generation == set.Generation {
		return s.hash, nil
	}
	hash, err := delivery.TemplateHash(&set.Spec.ManifestWorkTemplate)
	if err != nil {
		return "", err //nolint:wrapcheck // it names the manifest
	}
	s.hash, s.hashOf, s.generation = hash, set.UID, set.Generation
	return hash, nil
}

// faultsByCluster returns the faults for a plan. It drops those of writes that no plan repeats any more.
func (s *setState) faultsByCluster(now time.Time) map[string]delivery.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]delivery.Fault, len(s.faults))
	for cluster, f := range s.faults {
		if now.Sub(f.Retry) > lastRetry {
			delete(s.faults, cluster)
			continue
		}
		out[cluster] = f.Fault
	}
	return out
}

// nextRetry returns how long after now the next refused write is sent again; 0 without one.
func (s *setState) nextRetry(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out time.Duration
	for _, f := range s.faults {
		out = earliest([]time.Duration{out, f.Retry.Sub(now)})
	}
	return out
}

// settle records the outcome of a write. Err is nil after success.
func (s *setState) settle(cluster, hash string, err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.faults, cluster)
		return
	}
	before, known := s.faults[cluster]
	if !known || before.Hash != hash {
		before = fault{Fault: delivery.Fault{Hash: hash, Since: now}}
	}
	before.attempts++
	before.Permanent, before.Message = refused(err), message(err)
	before.Retry = now.Add(backoff(before.attempts, firstRetry, lastRetry))
	if isConflict(err) {
		before.Retry = now.Add(backoff(before.attempts, conflictRetry, lastConflictRetry))
	}
	s.faults[cluster] = before
}

// backoff returns the delay after a number of attempts.
func backoff(attempts int, first, last time.Duration) time.Duration {
	return min(last, first*time.Duration(math.Pow(2, float64(min(attempts-1, 16)))))
}

// refused reports whether the API server refused the work itself: the same write will be refused again.
func refused(err error) bool {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return false
	}
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsAlreadyExists(err)
}

// isConflict reports whether another client wrote first.
func isConflict(err error) bool { return apierrors.IsConflict(err) }

// message returns the answer of the API server.
func message(err error) string {
	if apierrors.IsAlreadyExists(err) {
		return "another client has a work of this name there: delete it, or rename the set"
	}
	if isConflict(err) {
		return "another client changed the work at the same time"
	}
	return err.Error()
}

// ended reports whether an error is of the end of the process, so that it is no fault of the cluster.
func ended(ctx context.Context) bool { return ctx.Err() != nil }
