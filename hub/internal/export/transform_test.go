package export

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func known(uid types.UID) (types.UID, bool) {
	out, ok := map[types.UID]types.UID{"old-owner": "new-owner"}[uid]
	return out, ok
}

func TestMovedKeepsWhatTheHubDecides(t *testing.T) {
	work := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
		"metadata": map[string]any{
			"namespace": "c1", "name": "w", "uid": "old", "resourceVersion": "7", "generation": int64(4),
			"creationTimestamp": "2026-01-01T00:00:00Z",
			"finalizers":        []any{"cluster.open-cluster-management.io/manifest-work-cleanup"},
			"labels":            map[string]any{"a": "b"},
			"annotations": map[string]any{
				"berth-project.io/owner-uid": "old-owner", "berth-project.io/template-generation": "4",
				"berth-project.io/hand-over": "x",
			},
			"ownerReferences": []any{
				map[string]any{"kind": "A", "name": "a", "apiVersion": "v1", "uid": "old-owner"},
				map[string]any{"kind": "B", "name": "b", "apiVersion": "v1", "uid": "unknown"},
			},
		},
		"spec": map[string]any{"workload": map[string]any{}}, "status": map[string]any{"conditions": []any{}},
	}}
	want := map[string]any{
		"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
		"metadata": map[string]any{
			"namespace": "c1", "name": "w", "finalizers": []any{"cluster.open-cluster-management.io/manifest-work-cleanup"},
			"labels": map[string]any{"a": "b"},
			"annotations": map[string]any{
				"berth-project.io/owner-uid": "new-owner", "berth-project.io/template-generation": "2",
				"berth-project.io/original-uid": "old",
			},
			"ownerReferences": []any{map[string]any{"kind": "A", "name": "a", "apiVersion": "v1", "uid": "new-owner"}},
		},
		"spec": map[string]any{"workload": map[string]any{}},
	}
	var work1 kind
	for _, k := range kinds() {
		if k.name == kindWork {
			work1 = k
		}
	}
	got := moved(work1, work, 2, known)
	if diff := cmp.Diff(want, got.Object); diff != "" {
		t.Errorf("moved (-want +got):\n%s", diff)
	}
	got.SetUID("new")
	got.SetGeneration(1)
	if again := moved(work1, got, 1, known); again.GetAnnotations()["berth-project.io/original-uid"] != "old" {
		t.Error("the second move of an object changes its original UID")
	}
}

func TestMovedStatusKeepsWhichGenerationWasObserved(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"generation": int64(4)},
		"status": map[string]any{
			"observedGeneration": int64(4),
			"list":               []any{map[string]any{"observedGeneration": int64(3), "value": int64(3)}},
		},
	}}
	want := map[string]any{"observedGeneration": int64(2), "list": []any{map[string]any{"observedGeneration": int64(1), "value": int64(3)}}}
	if diff := cmp.Diff(want, movedStatus(object, 2)); diff != "" {
		t.Errorf("movedStatus (-want +got):\n%s", diff)
	}
}

func TestOvertakesReturnsWhetherTheAgeOfTwoWorksMustDiffer(t *testing.T) {
	work := func(name string, objects ...string) object {
		manifests := []any{}
		for _, each := range objects {
			manifests = append(manifests, map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": map[string]any{"namespace": "n", "name": each},
			})
		}
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": name}, "spec": map[string]any{"workload": map[string]any{"manifests": manifests}},
		}}
	}
	for sentence, test := range map[string]struct {
		works []object
		want  bool
	}{
		"a younger work with an earlier name and the same object": {[]object{work("b", "x"), work("a", "y", "x")}, true},
		"a younger work with a later name":                        {[]object{work("a", "x"), work("b", "x")}, false},
		"works with different objects":                            {[]object{work("b", "x"), work("a", "y")}, false},
		"a third work with a name in between":                     {[]object{work("a", "x"), work("c", "x"), work("b", "x")}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			rivals, got := newRivalries(), false
			for _, each := range test.works {
				got = rivals.overtakes(each)
			}
			if got != test.want {
				t.Errorf("overtakes = %t, want %t", got, test.want)
			}
		})
	}
}
