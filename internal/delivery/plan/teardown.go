package plan

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/kube/phrase"
)

// Teardown is what to do about a deleted set.
type Teardown struct {
	// Deletions are the works to delete.
	Deletions []Write
	// Done means that the finalizer of the set may go after the deletions have succeeded.
	Done bool
	// Message counts what is left, and where.
	Message string
}

// TeardownOf returns what to do about a deleted set. Works must be a complete list of the works with the label of the set. It must come
// from the API server: a work that a cache does not show yet would be left without an owner.
//
// With the policy Background the set goes as soon as its works are being deleted, with Foreground once they are gone.
func TeardownOf(set *workv1alpha1.ManifestWorkReplicaSet, works []metav1.PartialObjectMetadata) Teardown {
	var out Teardown
	var left []string
	for i := range works {
		work := &works[i]
		if ownershipOf(set, work) == foreign {
			continue
		}
		left = append(left, work.Namespace)
		if work.DeletionTimestamp.IsZero() {
			out.Deletions = append(out.Deletions, Write{
				Verb: Delete, Cluster: work.Namespace, Name: work.Name, UID: work.UID, ResourceVersion: work.ResourceVersion,
			})
		}
	}
	foreground := set.Spec.CascadeDeletionPolicy == workv1alpha1.Foreground
	out.Done = len(left) == 0 || !foreground
	slices.Sort(left)
	out.Message = fmt.Sprintf("%d works are left: %s", len(left), phrase.Join(slices.Compact(left), phrase.MaxNames))
	return out
}

// DeletionStatus returns the status of a set that is being deleted.
func DeletionStatus(set *workv1alpha1.ManifestWorkReplicaSet, message string, now metav1.Time) workv1alpha1.ManifestWorkReplicaSetStatus {
	out := *set.Status.DeepCopy()
	setCondition(&out.Conditions, metav1.Condition{
		Type: workv1alpha1.Progressing, Status: metav1.ConditionTrue, Reason: ReasonDeleting, Message: message,
	}, set.Generation, now)
	return out
}
