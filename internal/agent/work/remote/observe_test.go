package remote

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// TestWhoCreatedAnObject has an object that a work owns, created at second 100.
func TestWhoCreatedAnObject(t *testing.T) {
	const marks = `{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"record\"}":{}}}}`
	const otherMarks = `{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"other\"}":{}}}}`
	const label = `{"f:metadata":{"f:labels":{"f:berth-project.io/record":{}}}}`
	entry := func(manager string, second int64, fields, subresource string) metav1.ManagedFieldsEntry {
		at := metav1.NewTime(time.Unix(second, 0))
		return metav1.ManagedFieldsEntry{Manager: manager, Time: &at, FieldsV1: metav1.NewFieldsV1(fields), Subresource: subresource}
	}
	other := func(record string) []metav1.OwnerReference {
		return []metav1.OwnerReference{reference(Record{Name: record, UID: "other"})}
	}
	record := Record{Name: "hub-work", UID: "record"}
	for sentence, test := range map[string]struct {
		managers []metav1.ManagedFieldsEntry
		owners   []metav1.OwnerReference
		labelled bool
		want     bool
	}{
		"the work created it, and lets it stay": {
			managers: []metav1.ManagedFieldsEntry{entry("work-agent-1", 100, label, "")}, labelled: true,
		},
		"the work wrote to it later, and lets it stay": {
			managers: []metav1.ManagedFieldsEntry{entry("other", 100, `{}`, ""), entry("work-agent-1", 101, label, "")}, labelled: true, want: true,
		},
		"another client copied the label": {
			managers: []metav1.ManagedFieldsEntry{entry("other", 100, label, "")}, labelled: true, want: true,
		},
		"the work created it":                              {managers: []metav1.ManagedFieldsEntry{entry("work", 100, marks, "")}},
		"the work wrote to it later":                       {managers: []metav1.ManagedFieldsEntry{entry("work", 101, marks, "")}, want: true},
		"the work began to create it in the second before": {managers: []metav1.ManagedFieldsEntry{entry("work", 99, marks, "")}},
		"another client wrote to it in the same second": {managers: []metav1.ManagedFieldsEntry{
			entry("other", 100, `{}`, ""),
			entry("work", 100, marks, ""),
		}, want: true},
		"another client wrote to it later": {managers: []metav1.ManagedFieldsEntry{
			entry("other", 101, `{}`, ""),
			entry("work", 100, marks, ""),
		}},
		"a controller reported its status in the same second": {managers: []metav1.ManagedFieldsEntry{
			entry("other", 100, `{}`, "status"),
			entry("work", 100, marks, ""),
		}},
		"no manager owns its owner reference": {managers: []metav1.ManagedFieldsEntry{entry("other", 100, `{}`, "")}},
		"another work of the hub created it, in the same second": {
			managers: []metav1.ManagedFieldsEntry{entry("other", 100, otherMarks, ""), entry("work", 101, marks, "")},
			owners:   other("hub-other"),
		},
		"a work of another hub created it, in the same second": {
			managers: []metav1.ManagedFieldsEntry{entry("other", 100, otherMarks, ""), entry("work", 100, marks, "")},
			owners:   other("elsewhere-other"), want: true,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			found := &unstructured.Unstructured{Object: map[string]any{}}
			found.SetCreationTimestamp(metav1.NewTime(time.Unix(100, 0)))
			found.SetManagedFields(test.managers)
			if found.SetOwnerReferences(append(test.owners, reference(record))); test.labelled { // it has no owner
				found.SetOwnerReferences(nil)
				found.SetLabels(map[string]string{workv1.RecordLabel: Label(record.Name)})
			}
			if got := Observe(found, record, "work").CreatedConcurrently; got != test.want {
				t.Errorf("CreatedConcurrently = %t", got)
			}
		})
	}
}
