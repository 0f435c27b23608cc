package work

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
	"github.com/berth-project/berth/internal/agent/work/remote"
)

// foreignRecord returns a record of another agent with one object.
func foreignRecord(entry plan.Entry) workv1.AppliedManifestWork {
	out := workv1.AppliedManifestWork{ObjectMeta: metav1.ObjectMeta{Name: "other-w", UID: "r"}}
	out.Status.AppliedResources = []workv1.AppliedManifestResourceMeta{metaOf(entry)}
	return out
}

// TestWhatTheRecordOfAnotherAgentShows has records of agents of Berth and of Open Cluster Management, and objects with and without marks.
func TestWhatTheRecordOfAnotherAgentShows(t *testing.T) {
	a := object.ID{Resource: "configmaps", Namespace: "n", Name: "a"}
	ofBerth := map[string]string{workv1.RecordHubLabel: "hub"}
	for sentence, test := range map[string]struct {
		labels          map[string]string
		entry           plan.Entry
		label           string
		owner           bool
		applied, marked bool
	}{
		"OCM has applied it": {entry: plan.Entry{ID: a, UID: "u"}, owner: true, applied: true, marked: true},
		"Berth has applied it": {
			labels: ofBerth, entry: plan.Entry{ID: a, UID: "u", Hash: "h"}, label: "other-w", applied: true, marked: true,
		},
		"an older Berth has applied it":  {entry: plan.Entry{ID: a, UID: "u", Hash: "h"}, applied: true},
		"Berth is about to apply it":     {labels: ofBerth, entry: plan.Entry{ID: a, UID: "u"}},
		"Berth is about to create it":    {labels: ofBerth, entry: plan.Entry{ID: a}},
		"it has the label of another":    {labels: ofBerth, entry: plan.Entry{ID: a, UID: "u"}, label: "third-w"},
		"OCM has it, without its owners": {entry: plan.Entry{ID: a, UID: "u"}, applied: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			record, found := foreignRecord(test.entry), &unstructured.Unstructured{}
			record.Labels = test.labels
			if test.label != "" {
				found.SetLabels(map[string]string{workv1.RecordLabel: remote.Label(test.label)})
			}
			if test.owner {
				found.SetOwnerReferences([]metav1.OwnerReference{{UID: "r"}})
			}
			f := &foreign{}
			if !f.store(time.Unix(1, 0), []workv1.AppliedManifestWork{record}) || f.store(time.Unix(2, 0), []workv1.AppliedManifestWork{record}) {
				t.Error("the first read changes what is known, and the second does not")
			}
			entry := f.of(a)[0]
			got := entry.other(found)
			want := plan.Other{
				Work: "other-w", Recorded: true, Foreign: true, UID: test.entry.UID, Applied: test.applied, Marked: test.marked,
			}
			if got != want {
				t.Errorf("it is %+v, want %+v", got, want)
			}
		})
	}
}

// TestWhoseRecordIsTheRival names the record of another agent that has an object, with its cluster and hub.
func TestWhoseRecordIsTheRival(t *testing.T) {
	a := object.ID{Resource: "configmaps", Namespace: "n", Name: "a"}
	record, found := foreignRecord(plan.Entry{ID: a, UID: "u"}), &unstructured.Unstructured{}
	record.Annotations = map[string]string{workv1.RecordClusterAnnotation: "edge-1", workv1.RecordHubURLAnnotation: "https://hub-2.example"}
	c := &Controller{}
	c.foreign.store(time.Unix(1, 0), []workv1.AppliedManifestWork{record})
	p := &pass{controller: c, read: map[object.ID]*unstructured.Unstructured{a: found}}
	for uid, want := range map[string]string{"u": `other-w of the cluster "edge-1" on the hub https://hub-2.example`, "another": ""} {
		found.SetUID(metav1.ObjectMeta{UID: "u"}.UID)
		if uid == "another" {
			found.SetUID("another")
		}
		if got := p.rivalRecord(a); got != want {
			t.Errorf("for the UID %s the rival is %q, want %q", uid, got, want)
		}
	}
	fields := []string{".data.k", ".metadata.labels." + workv1.RecordLabel, ".metadata.ownerReferences[uid]"}
	if got := remote.WithoutMarks(fields); strings.Join(got, ",") != ".data.k" {
		t.Errorf("the fields of the manifest are %v", got)
	}
}
