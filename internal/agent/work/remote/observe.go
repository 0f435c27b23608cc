package remote

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

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
		}) || found.GetAnnotations()[CreatedByAnnotation] == Label(record.Name),
		CreatedConcurrently: createdBefore(found, record),
		Fields:              fieldsHash(found, manager),
		Terminating:         found.GetDeletionTimestamp() != nil,
		Serving:             health.Serving(found),
		Healthy:             healthy(found),
		Finished:            health.Finished(found),
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

// createdBefore returns whether another client created an object before works first wrote to it: it is older than what the works that own
// it wrote, or another client wrote to it in the second of its creation. All times are those of the member, in whole seconds. An object
// that no work owns gives no answer, unless it has the label of the record, which another client may have copied.
func createdBefore(found *unstructured.Unstructured, record Record) bool {
	created := found.GetCreationTimestamp()
	owners := ownersOf(found, record)
	owned, first, others := false, false, false
	for _, entry := range found.GetManagedFields() {
		early := entry.Time != nil && !created.Before(entry.Time)
		switch {
		case ownsOneOf(entry, owners), ownsLabel(entry, found, record):
			owned, first = true, first || early
		case entry.Subresource == "":
			others = others || early
		}
	}
	labelled := len(owners) == 0 && found.GetLabels()[workv1.RecordLabel] == Label(record.Name)
	return (owned || labelled) && (!first || others)
}

// ownersOf returns the UIDs of the owners of an object that are records of the same hub.
func ownersOf(found *unstructured.Unstructured, record Record) []types.UID {
	hub, _, _ := strings.Cut(record.Name, "-")
	var out []types.UID
	for _, owner := range found.GetOwnerReferences() {
		if of := reference(record); owner.APIVersion == of.APIVersion && owner.Kind == of.Kind && strings.HasPrefix(owner.Name, hub+"-") {
			out = append(out, owner.UID)
		}
	}
	return out
}

// ownsOneOf returns whether a manager owns an owner reference with one of the UIDs.
func ownsOneOf(entry metav1.ManagedFieldsEntry, owners []types.UID) bool {
	return entry.FieldsV1 != nil && slices.ContainsFunc(owners, func(owner types.UID) bool {
		return bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(owner))
	})
}

// ownsLabel returns whether a manager owns the label of a record that an object has.
func ownsLabel(entry metav1.ManagedFieldsEntry, found *unstructured.Unstructured, record Record) bool {
	return entry.FieldsV1 != nil && strings.HasPrefix(entry.Manager, updateManager) &&
		found.GetLabels()[workv1.RecordLabel] == Label(record.Name) &&
		bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:`+workv1.RecordLabel+`"`))
}

// CreatedConcurrently returns whether another client wrote to an object that an apply should have created.
func CreatedConcurrently(found *unstructured.Unstructured, manager string) bool {
	return slices.ContainsFunc(found.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager != manager })
}
