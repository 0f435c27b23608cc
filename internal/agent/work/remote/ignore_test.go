package remote

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &out.Object); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestIgnoredFieldsKeepTheValuesOfTheMember(t *testing.T) {
	const (
		manifest = `{spec: {replicas: 2, paused: true, list: [{name: a, v: 1}, {name: b, v: 2}]}, data: {"a/b": x}}`
		live     = `{spec: {replicas: 7, list: [{name: a, v: 8}, {name: b, v: 9}]}, data: {"a/b": y}}`
	)
	for sentence, test := range map[string]struct {
		field  workv1.IgnoreField
		repair bool
		want   string
		fault  string
	}{
		"a pointer": {
			field: workv1.IgnoreField{JSONPointers: []string{"/spec/replicas"}},
			want:  `{spec: {replicas: 7, paused: true, list: [{name: a, v: 1}, {name: b, v: 2}]}, data: {"a/b": x}}`,
		},
		"a pointer with an escape": {
			field: workv1.IgnoreField{JSONPointers: []string{"/data/a~1b"}},
			want:  `{spec: {replicas: 2, paused: true, list: [{name: a, v: 1}, {name: b, v: 2}]}, data: {"a/b": y}}`,
		},
		"a field that the member lacks": {
			field: workv1.IgnoreField{JSONPointers: []string{"/spec/paused"}},
			want:  `{spec: {replicas: 2, list: [{name: a, v: 1}, {name: b, v: 2}]}, data: {"a/b": x}}`,
		},
		"a field that nothing has": {field: workv1.IgnoreField{JSONPointers: []string{"/spec/other/deep"}}, want: manifest},
		"a path": {
			field: workv1.IgnoreField{JSONPaths: []string{".spec.replicas"}},
			want:  `{spec: {replicas: 7, paused: true, list: [{name: a, v: 1}, {name: b, v: 2}]}, data: {"a/b": x}}`,
		},
		"jq": {
			field: workv1.IgnoreField{JQPathExpressions: []string{`.spec.list[] | select(.name == "b") | .v`}},
			want:  `{spec: {replicas: 2, paused: true, list: [{name: a, v: 1}, {name: b, v: 9}]}, data: {"a/b": x}}`,
		},
		"a change, at a new manifest": {
			field: workv1.IgnoreField{Condition: "OnSpokeChange", JSONPaths: []string{".spec.replicas"}},
			want:  manifest,
		},
		"a change, at a repair": {
			field:  workv1.IgnoreField{Condition: "OnSpokeChange", JSONPaths: []string{".spec.replicas"}},
			repair: true, want: `{spec: {replicas: 7, paused: true, list: [{name: a, v: 1}, {name: b, v: 2}]}, data: {"a/b": x}}`,
		},
		"a path with a filter": {
			field: workv1.IgnoreField{JSONPaths: []string{`.spec.list[?(@.name=="a")].v`}},
			want:  `{spec: {replicas: 2, paused: true, list: [{name: a, v: 8}, {name: b, v: 2}]}, data: {"a/b": x}}`,
		},
		"a path with an index": {
			field: workv1.IgnoreField{JSONPaths: []string{`.spec.list[1].v`}},
			want:  `{spec: {replicas: 2, paused: true, list: [{name: a, v: 1}, {name: b, v: 9}]}, data: {"a/b": x}}`,
		},
		"a path to all elements": {
			field: workv1.IgnoreField{JSONPaths: []string{`.spec.list[*].v`}},
			want:  `{spec: {replicas: 2, paused: true, list: [{name: a, v: 8}, {name: b, v: 9}]}, data: {"a/b": x}}`,
		},
		"a path with a step":   {field: workv1.IgnoreField{JSONPaths: []string{`.spec.list[0:2:2].v`}}, fault: "no step"},
		"jq that does not end": {field: workv1.IgnoreField{JQPathExpressions: []string{`.spec | until(false; .)`}}, fault: "deadline"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if test.field.Condition == "" {
				test.field.Condition = onSpokePresent
			}
			body := parse(t, manifest)
			err := keepIgnored(t.Context(), body, parse(t, live), []workv1.IgnoreField{test.field}, test.repair, "agent")
			if (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) {
				t.Fatalf("keepIgnored = %v, want %q", err, test.fault)
			}
			if err == nil {
				if diff := cmp.Diff(parse(t, test.want).Object, body.Object); diff != "" {
					t.Errorf("the manifest (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestIgnoredFieldsOfOtherManagersLeaveTheManifest has fields that a scaler and an injector own. The list has another order on the member.
func TestIgnoredFieldsOfOtherManagersLeaveTheManifest(t *testing.T) {
	body := parse(t, `{spec: {replicas: 2, list: [{name: a, v: 1, w: 1}, {name: b, v: 2}]}}`)
	live := parse(t, `
metadata:
  managedFields:
  - {manager: agent, operation: Apply, fieldsV1: {"f:spec": {"f:replicas": {}, "f:list": {'k:{"name":"a"}': {"f:v": {}, "f:w": {}}}}}}
  - {manager: scaler, operation: Update, subresource: scale, fieldsV1: {"f:spec": {"f:replicas": {}}}}
  - {manager: injector, operation: Update, fieldsV1: {"f:spec": {"f:list": {'k:{"name":"a"}': {"f:v": {}}}}}}
  - {manager: reporter, operation: Update, subresource: status, fieldsV1: {"f:spec": {"f:list": {'k:{"name":"a"}': {"f:w": {}}}}}}
spec: {replicas: 7, list: [{name: z, v: 0}, {name: b, v: 9}, {name: a, v: 8, w: 8}]}
`)
	field := workv1.IgnoreField{
		Condition: onSpokePresent, JSONPointers: []string{"/spec/replicas"},
		JSONPaths: []string{".spec.list[*].v", ".spec.list[0].w"},
	}
	if err := keepIgnored(t.Context(), body, live, []workv1.IgnoreField{field}, false, "agent"); err != nil {
		t.Fatal(err)
	}
	want := parse(t, `{spec: {list: [{name: a, w: 8}, {name: b, v: 9}]}}`)
	if diff := cmp.Diff(want.Object, body.Object); diff != "" {
		t.Errorf("the manifest (-want +got):\n%s", diff)
	}
}
