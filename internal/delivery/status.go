package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/rollout"
)

// report stores the status where it changed, at most once an interval. The first status of a rollout and its last are stored at once.
// Wait is how long after now it has to be called again; 0 if everything is stored.
func (r *reconciler) report(
	ctx context.Context, s *setState, set *workv1alpha1.ManifestWorkReplicaSet, status workv1alpha1.ManifestWorkReplicaSetStatus,
) (wait time.Duration, err error) {
	// The plan was made from this set, or the set was stored again meanwhile.
	if equality.Semantic.DeepEqual(set.Status, status) {
		return 0, nil
	}
	now := r.options.Clock.Now()
	if wait = r.untilReport(s, now); wait > 0 && !urgent(&set.Status, &status) {
		return wait, nil
	}
	data, err := statusPatch(set, &status)
	if err != nil {
		return 0, fmt.Errorf("encoding the status of ManifestWorkReplicaSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	after := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: set.Name}}
	if err := r.client.Status().Patch(ctx, after, client.RawPatch(types.MergePatchType, data)); err != nil {
		return 0, fmt.Errorf("writing the status of ManifestWorkReplicaSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	s.sets.Set(after, now)
	s.setReported(now)
	r.recordEvents(set, &status)
	return 0, nil
}

// statusPatch returns the merge patch that stores a status.
func statusPatch(set *workv1alpha1.ManifestWorkReplicaSet, status *workv1alpha1.ManifestWorkReplicaSetStatus) ([]byte, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller names the set
	}
	// A merge patch keeps what it does not have.
	remove := func(object map[string]any, keys ...string) {
		for _, key := range keys {
			if _, has := object[key]; !has && object != nil {
				object[key] = nil
			}
		}
	}
	remove(content, "abortedTime", "controlGeneration", "rollout", "placementSummary")
	record, _ := content["rollout"].(map[string]any)
	remove(record, "clusters", "finishedTime", "holds", "missing", "observedTime", "overrides", "placements", "provenOverrides", "returned")
	return json.Marshal(map[string]any{ //nolint:wrapcheck // as above
		"metadata": map[string]any{"uid": set.UID, "resourceVersion": set.ResourceVersion}, "status": content,
	})
}

// urgent reports whether a rollout begins or ends with a status, or is aborted.
func urgent(before, after *workv1alpha1.ManifestWorkReplicaSetStatus) bool {
	return before.UpdateRevision != after.UpdateRevision || before.AbortedTime == nil && after.AbortedTime != nil ||
		!finished(before) && finished(after)
}

func finished(status *workv1alpha1.ManifestWorkReplicaSetStatus) bool {
	condition := meta.FindStatusCondition(status.Conditions, workv1alpha1.Progressing)
	return condition != nil && condition.Reason == string(rollout.PhaseFinished)
}

// untilReport returns how long after an instant the next status of a set may be stored; 0 or less for at once.
func (r *reconciler) untilReport(s *setState, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reported.Add(r.options.StatusInterval).Sub(now)
}

func (s *setState) setReported(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reported = at
}
