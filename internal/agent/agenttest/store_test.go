package agenttest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func object(fields map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: fields}
}

func TestMerged(t *testing.T) {
	for name, tc := range map[string]struct{ value, patch, want any }{
		"a field is added":        {map[string]any{"a": "1"}, map[string]any{"b": "2"}, map[string]any{"a": "1", "b": "2"}},
		"null removes a field":    {map[string]any{"a": "1"}, map[string]any{"a": nil}, map[string]any{}},
		"null of a missing field": {map[string]any{}, map[string]any{"a": nil}, map[string]any{}},
		"an inner field changes": {
			map[string]any{"a": map[string]any{"b": "1", "c": "2"}},
			map[string]any{"a": map[string]any{"b": "3"}},
			map[string]any{"a": map[string]any{"b": "3", "c": "2"}},
		},
		"a list is replaced": {map[string]any{"a": []any{"1"}}, map[string]any{"a": []any{"2"}}, map[string]any{"a": []any{"2"}}},
		"an object replaces a scalar": {
			map[string]any{"a": "1"},
			map[string]any{"a": map[string]any{"b": "2"}},
			map[string]any{"a": map[string]any{"b": "2"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, merged(tc.value, tc.patch)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnObjectGoesWithItsLastFinalizer(t *testing.T) {
	s := newStore()
	if _, ok := s.create("c/a", object(map[string]any{"metadata": map[string]any{"name": "a", "finalizers": []any{"f"}}})); !ok {
		t.Fatal("not created")
	}
	if _, ok := s.create("c/a", object(map[string]any{})); ok {
		t.Error("it was created twice")
	}
	if !s.remove("c/a") || s.get("c/a").GetDeletionTimestamp() == nil {
		t.Error("it is not being deleted")
	}
	s.merge("c/a", map[string]any{"metadata": map[string]any{"finalizers": nil}})
	if s.get("c/a") != nil || s.remove("c/a") {
		t.Error("it is still there")
	}
}

func TestAnAppliedObjectKeepsItsUID(t *testing.T) {
	s := newStore()
	first := s.apply("c/a", "m", object(map[string]any{"metadata": map[string]any{"name": "a"}}))
	second := s.apply("c/a", "m", object(map[string]any{"metadata": map[string]any{"name": "a"}, "data": map[string]any{"k": "v"}}))
	if first.GetUID() == "" || first.GetUID() != second.GetUID() || first.GetResourceVersion() == second.GetResourceVersion() ||
		s.allApplies() != 2 {
		t.Errorf("UIDs %q and %q, versions %q and %q, %d applies", first.GetUID(), second.GetUID(), first.GetResourceVersion(),
			second.GetResourceVersion(), s.allApplies())
	}
	if len(second.GetManagedFields()) != 1 || second.GetManagedFields()[0].Manager != "m" {
		t.Errorf("managed fields %v", second.GetManagedFields())
	}
}
