package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/kube/phrase"
)

// PaceWindow is the time in which the caller may write its limit of bytes once more.
const PaceWindow = 5 * time.Minute

// PaceHold begins the part of the message of the condition Progressing that reports held writes.
const PaceHold = "held by the pace of the hub"

// HoldBack returns a status that reports how many clusters wait because the caller bounds the bytes that it writes.
func HoldBack(
	status workv1alpha1.ManifestWorkReplicaSetStatus, clusters int, bytes int64, now metav1.Time,
) workv1alpha1.ManifestWorkReplicaSetStatus {
	out := *status.DeepCopy()
	condition := meta.FindStatusCondition(out.Conditions, workv1alpha1.Progressing)
	if condition == nil || clusters == 0 {
		return out
	}
	changed := *condition
	changed.Status = metav1.ConditionTrue
	changed.Message = fmt.Sprintf("%s, %d MB of specs in 5 minutes: %s; %s", PaceHold, bytes/1_000_000, phrase.Count(clusters, "cluster"),
		changed.Message)
	setCondition(&out.Conditions, changed, changed.ObservedGeneration, now)
	return out
}
