package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/health"
	"github.com/berth-project/berth/internal/agent/work/plan"
)

// Observe returns what plans need of an object. manager is the field manager of the work for it.
func Observe(found *unstructured.Unstructured, record Record, manager string) plan.Object {
	label := found.GetLabels()[workv1.RecordLabel]
	return plan.Object{
		UID:        string(found.GetUID()),
		Labelled:   label == Label(record.Name),
		OtherLabel: label != "" && label != Label(record.Name),
		Owned: record.UID != "" && slices.ContainsFunc(found.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
			return owner.UID == record.UID
		}),
		Named: slices.ContainsFunc(found.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
			of := reference(record)
			return owner.APIVersion == of.APIVersion && owner.Kind == of.Kind && owner.Name == of.Name
		}),
		Fields:      fieldsHash(found, manager),
		Terminating: found.GetDeletionTimestamp() != nil,
		Serving:     health.Serving(found),
		Healthy:     healthy(found),
		Finished:    health.Finished(found),
	}
}

func healthy(found *unstructured.Unstructured) bool {
	state, _ := health.Of(found)
	return state == health.Healthy
}

// fieldsHash returns the hash of the fields that a manager owns by apply. The API server takes a field from the manager when another client
// changes it, so the hash changes with every change of these fields by another client, and with no other change.
func fieldsHash(found *unstructured.Unstructured, manager string) string {
	managed := Managed(found, manager)
	if managed == nil {
		return ""
	}
	sum := sha256.Sum256(managed)
	return hex.EncodeToString(sum[:8])
}

// Raced returns whether another client wrote to an object that an apply should have created.
func Raced(found *unstructured.Unstructured, manager string) bool {
	return slices.ContainsFunc(found.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager != manager })
}
