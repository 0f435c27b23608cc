package plan

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/kube/phrase"
)

const (
	labelSet        = workv1.ReplicaSetLabel
	labelPlacement  = workv1.PlacementNameLabel
	annotationOwner = workv1.OwnerAnnotation

	// annotationsOfOthers stands in the memory of a manager for the annotations of other clients. It is never stored.
	annotationsOfOthers = "others"

	// startedAtLayout is RFC 3339 with microseconds.
	startedAtLayout = "2006-01-02T15:04:05.000000Z07:00"
)

// ownership is whose a work with the label of a set is.
type ownership int

const (
	// foreign works carry the label, but not the UID of the set.
	foreign ownership = iota
	// owned works carry the UID of the set.
	owned
	// adoptable works were made by OCM's controller for this set, or by a set of this name that went with its definition.
	adoptable
)

// ownershipOf returns whose a work is that carries the label of a set.
func ownershipOf(set metav1.Object, work metav1.Object) ownership {
	labels := work.GetLabels()
	if labels[labelSet] != SetLabelValue(set.GetNamespace(), set.GetName()) {
		return foreign
	}
	switch uid := work.GetAnnotations()[workv1.OwnerUIDAnnotation]; {
	case uid == string(set.GetUID()) && uid != "":
		return owned
	case uid == "" && labels[labelPlacement] != "" && work.GetGenerateName() == set.GetName():
		return adoptable
	case uid == "" && work.GetAnnotations()[workv1.TemplateHashAnnotation] != "":
		return adoptable
	default:
		return foreign
	}
}

// IsCurrent reports whether a work has the spec with this hash, as the set wrote it. A spec that another client changed since is not
// current. No work is current with the empty hash.
func IsCurrent(work *workv1.ManifestWork, hash string) bool {
	return hash != "" && work.Annotations[workv1.TemplateHashAnnotation] == hash && !edited(work)
}

// edited reports whether another client changed the spec since the set wrote it.
func edited(work *workv1.ManifestWork) bool {
	written, err := strconv.ParseInt(work.Annotations[workv1.TemplateGenerationAnnotation], 10, 64)
	return err == nil && work.Generation > written
}

// StartedAt returns when the set wrote the spec; zero where that is not on record.
func StartedAt(work *workv1.ManifestWork) time.Time {
	at, err := time.Parse(time.RFC3339Nano, work.Annotations[workv1.StartedAtAnnotation])
	if err != nil {
		return time.Time{}
	}
	return at
}

// placementsOf returns the placements that selected the cluster of a work when it was last written.
func placementsOf(work *workv1.ManifestWork) []string {
	if list := work.Annotations[workv1.PlacementsAnnotation]; list != "" {
		return strings.Split(list, ",")
	}
	if label := work.Labels[labelPlacement]; label != "" {
		return []string{label}
	}
	return nil
}

// labelsFor returns the labels that a work of a set has, and the names of those that are copied from the set.
func labelsFor(set *workv1alpha1.ManifestWorkReplicaSet, placement string) (labels map[string]string, propagated []string) {
	labels = maps.Clone(set.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	propagated = slices.Sorted(maps.Keys(labels))
	labels[labelSet], labels[labelPlacement] = SetLabelValue(set.Namespace, set.Name), PlacementLabelValue(placement)
	return labels, propagated
}

// readConditions returns the conditions that plans read, with messages of a bounded length: an agent may write any number of any size.
func readConditions(list []metav1.Condition) []metav1.Condition {
	list = slices.DeleteFunc(list, func(each metav1.Condition) bool {
		return !slices.Contains([]string{
			workv1.WorkApplied, workv1.WorkAvailable, workv1.WorkProgressing, workv1.WorkDegraded, workv1.WorkComplete, workv1.WorkDeleting,
		}, each.Type)
	})
	for i := range list {
		list[i].Message = phrase.Cut(list[i].Message, phrase.MaxMessage)
	}
	return slices.Clip(list)
}

// Strip returns a work without what no plan reads: the manifests, the reported values, the annotations of other clients, the owners that
// are no add-ons, and the state of every manifest but the first that fails. It keeps deleteOption. Texts that are the same in many works
// are kept once. The work is changed.
func Strip(work *workv1.ManifestWork) *workv1.ManifestWork {
	work.ManagedFields = nil
	work.OwnerReferences = slices.DeleteFunc(work.OwnerReferences, func(owner metav1.OwnerReference) bool {
		return !strings.HasPrefix(owner.APIVersion, addonv1alpha1.GroupName+"/")
	})
	if len(work.OwnerReferences) == 0 {
		work.OwnerReferences = nil // empty slices of many works would take memory
	}
	annotated := len(work.Annotations) > 0
	maps.DeleteFunc(work.Annotations, func(key, _ string) bool {
		return key != annotationOwner && !strings.HasPrefix(key, "berth-project.io/")
	})
	if annotated && len(work.Annotations) == 0 {
		work.Annotations[annotationsOfOthers] = "" // so that a patch does not take the work for one without annotations
	}
	work.Spec = workv1.ManifestWorkSpec{DeleteOption: work.Spec.DeleteOption}
	failing := firstFailure(work)
	work.Status.ResourceStatus.Manifests = nil
	work.Status.Conditions = readConditions(work.Status.Conditions)
	if failing != nil {
		kept := workv1.ManifestCondition{ResourceMeta: failing.ResourceMeta, Conditions: readConditions(failing.Conditions)}
		work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{kept}
	}
	share(work)
	return work
}
