package transform

import (
	"encoding/json"
	"fmt"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/cli/generate"
)

// roundTrip returns a copy of an object as a client decodes it, which shares nothing.
func roundTrip[T any](t *testing.T, object *T) *T {
	t.Helper()
	out := new(T)
	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// transformed returns an object after a transform.
func transformed[T any](t *testing.T, transform toolscache.TransformFunc, object *T) *T {
	t.Helper()
	out, err := transform(object)
	typed, ok := out.(*T)
	if err != nil || !ok {
		t.Fatalf("got %T and error %v", out, err)
	}
	return typed
}

// appliedMeta is the metadata of an object that kubectl applied.
func appliedMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "owner": "jane"},
	}
}

func slice() *clusterv1beta1.PlacementDecision {
	out := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "p-decision-1", Labels: map[string]string{clusterv1beta1.PlacementLabel: "p"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1beta1", Kind: "Placement", Name: "p", UID: "uid"}},
	}}
	for i := range 5 {
		out.Status.Decisions = append(out.Status.Decisions, clusterv1beta1.ClusterDecision{
			ClusterName: fmt.Sprint("c", i), Reason: "r",
			Score: int64(i),
		})
	}
	return out
}

// TestContentIsPreserved transforms a fleet twice, the second time with all strings interned.
func TestContentIsPreserved(t *testing.T) {
	s := New()
	f := generate.New(generate.Shape{Clusters: 200, Placements: 200, Seed: 3})
	for range 2 {
		for _, want := range f.Clusters {
			if diff := cmp.Diff(roundTrip(t, want), transformed(t, s.Cluster, roundTrip(t, want))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", want.Name, diff)
			}
		}
		for _, want := range f.Placements {
			if diff := cmp.Diff(roundTrip(t, want), transformed(t, s.Placement, roundTrip(t, want))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", want.Name, diff)
			}
		}
		if diff := cmp.Diff(slice(), transformed(t, s.Slice, roundTrip(t, slice()))); diff != "" {
			t.Errorf("slice (-want +got):\n%s", diff)
		}
	}
}

func TestUnreadMetadataIsDropped(t *testing.T) {
	s := New()
	kept := map[string]string{"owner": "jane"}
	placement := transformed(t, s.Placement, &clusterv1beta1.Placement{ObjectMeta: appliedMeta()})
	decision := transformed(t, s.Slice, &clusterv1beta1.PlacementDecision{ObjectMeta: appliedMeta()})
	other := transformed(t, s.Object, &corev1.ConfigMap{ObjectMeta: appliedMeta()})
	for name, got := range map[string]metav1.ObjectMeta{
		"placement": placement.ObjectMeta, "slice": decision.ObjectMeta,
		"other": other.ObjectMeta,
	} {
		if diff := cmp.Diff(metav1.ObjectMeta{Annotations: kept}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	cluster := transformed(t, s.Cluster, &clusterv1.ManagedCluster{ObjectMeta: appliedMeta()})
	if diff := cmp.Diff(metav1.ObjectMeta{Annotations: appliedMeta().Annotations}, cluster.ObjectMeta); diff != "" {
		t.Errorf("cluster, whose annotations expressions read (-want +got):\n%s", diff)
	}
}

func TestTombstonesPass(t *testing.T) {
	s := New()
	want := toolscache.DeletedFinalStateUnknown{Key: "a"}
	for name, transform := range map[string]toolscache.TransformFunc{
		"object": s.Object, "cluster": s.Cluster, "placement": s.Placement,
		"slice": s.Slice,
	} {
		if got, err := transform(want); err != nil || got != any(want) {
			t.Errorf("%s: got %v and error %v", name, got, err)
		}
	}
}

// TestConditionMessagesAreNotInterned uses a message that holds a time, as agents write them.
func TestConditionMessagesAreNotInterned(t *testing.T) {
	s := New()
	drawn := generate.New(generate.Shape{Clusters: 1, Placements: 1, Seed: 3}).Clusters[0]
	transformed(t, s.Cluster, roundTrip(t, drawn))
	words := len(s.interner.values)
	drawn.Status.Conditions[0].Message = "seen at 10:00"
	if last := transformed(t, s.Cluster, roundTrip(t, drawn)); last.Status.Conditions[0].Message != "seen at 10:00" {
		t.Errorf("got message %q", last.Status.Conditions[0].Message)
	}
	if got := len(s.interner.values); got != words {
		t.Errorf("%d strings are interned, want %d", got, words)
	}
}

func TestStringsAreInterned(t *testing.T) {
	s := New()
	one, other := transformed(t, s.Slice, roundTrip(t, slice())), transformed(t, s.Slice, roundTrip(t, slice()))
	for i := range one.Status.Decisions {
		a, b := one.Status.Decisions[i], other.Status.Decisions[i]
		if unsafe.StringData(a.ClusterName) != unsafe.StringData(b.ClusterName) || unsafe.StringData(a.Reason) != unsafe.StringData(b.Reason) {
			t.Errorf("decision %d is stored twice", i)
		}
	}
	if room := cap(one.Status.Decisions) - len(one.Status.Decisions); room > 0 {
		t.Errorf("room for %d more decisions, want none", room)
	}
}

func TestTheInternerIsBounded(t *testing.T) {
	var w interner
	for i := range maxStrings + 10 {
		word := fmt.Sprint(i)
		w.intern(&word)
	}
	long := string(make([]byte, maxLength+1))
	w.intern(&long)
	if len(w.values) != 10 {
		t.Errorf("%d strings are stored, want the 10 since the table was emptied", len(w.values))
	}
}
