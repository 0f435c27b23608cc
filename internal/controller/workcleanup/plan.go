package workcleanup

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// action is what happens to a work.
type action int

const (
	// keep leaves the work as it is.
	keep action = iota
	// remove deletes a work that has finished.
	remove
	// release removes the finalizer of the agent from a work that is being deleted: its cluster is gone, so no agent does that.
	release
)

// makePlan returns what happens to a work, and when to look again; zero for never. missing is since when it has no ManagedCluster, zero
// while it has one; timeout is how long a deletion waits without it, zero for no end.
func makePlan(work *workv1.ManifestWork, missing time.Time, timeout time.Duration, now time.Time) (action, time.Duration) {
	if !work.DeletionTimestamp.IsZero() {
		if missing.IsZero() || timeout <= 0 || !slices.Contains(work.Finalizers, workv1.ManifestWorkFinalizer) {
			return keep, 0
		}
		if left := latest(missing, work.DeletionTimestamp.Time).Add(timeout).Sub(now); left > 0 {
			return keep, left // the cluster may come back, as after a mistake
		}
		return release, 0
	}
	finished, ok := finishedAt(work)
	if !ok {
		return keep, 0
	}
	if left := finished.Add(ttl(work)).Sub(now); left > 0 {
		return keep, left
	}
	return remove, 0
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// finishedAt returns when a work with a time to live has finished. The works of a set have none: the set would create them again.
func finishedAt(work *workv1.ManifestWork) (time.Time, bool) {
	option := work.Spec.DeleteOption
	if option == nil || option.TTLSecondsAfterFinished == nil || ofSet(work) {
		return time.Time{}, false
	}
	complete := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkComplete)
	if complete == nil || complete.Status != metav1.ConditionTrue || complete.ObservedGeneration != work.Generation {
		return time.Time{}, false
	}
	return complete.LastTransitionTime.Time, true
}

func ofSet(work *workv1.ManifestWork) bool {
	return work.Labels[workv1.ReplicaSetLabel] != "" || work.Annotations[workv1.OwnerUIDAnnotation] != ""
}

// maxTTL keeps a time to live from overflowing.
const maxTTL = 100 * 365 * 24 * time.Hour

// ttl returns how long a work stays after it has finished. The API server also stores negative times, which count as none.
func ttl(work *workv1.ManifestWork) time.Duration {
	seconds := *work.Spec.DeleteOption.TTLSecondsAfterFinished
	if seconds > int64(maxTTL/time.Second) {
		return maxTTL
	}
	return time.Duration(max(seconds, 0)) * time.Second
}
