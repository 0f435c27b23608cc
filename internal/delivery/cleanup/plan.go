package cleanup

import (
	"fmt"
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

// input is what a plan depends on.
type input struct {
	work *workv1.ManifestWork
	// missing is since when the work has no ManagedCluster, finished since when it is complete; zero otherwise.
	missing, finished time.Time
	// timeout is how long a deletion waits without a cluster; zero for no end.
	timeout time.Duration
	now     time.Time
}

// makePlan returns what happens to a work, and when to look again; zero for never.
func makePlan(in input) (action, time.Duration) {
	work := in.work
	if !work.DeletionTimestamp.IsZero() {
		if in.missing.IsZero() || in.timeout <= 0 || !slices.Contains(work.Finalizers, workv1.ManifestWorkFinalizer) {
			return keep, 0
		}
		if left := latest(in.missing, work.DeletionTimestamp.Time).Add(in.timeout).Sub(in.now); left > 0 {
			return keep, left // the cluster may come back, as after a mistake
		}
		return release, 0
	}
	if in.finished.IsZero() {
		return keep, 0
	}
	if left := in.finished.Add(ttl(work)).Sub(in.now); left > 0 {
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

// finishedAs returns which object and generation has finished; empty for a work that has not, and for one without a time to live. The works
// of a set have none: the set would create them again.
func finishedAs(work *workv1.ManifestWork) string {
	option := work.Spec.DeleteOption
	if option == nil || option.TTLSecondsAfterFinished == nil || ofSet(work) {
		return ""
	}
	complete := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkComplete)
	if complete == nil || complete.Status != metav1.ConditionTrue || complete.ObservedGeneration != work.Generation {
		return ""
	}
	return fmt.Sprintf("%s in generation %d", work.UID, work.Generation)
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
