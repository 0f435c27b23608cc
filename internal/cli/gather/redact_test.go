package gather

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// planted is a value that no archive may have, as it is or in base64.
const planted = "correct-horse-battery-staple"

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &out.Object); err != nil {
		t.Fatal(err)
	}
	return out
}

// holdsPlanted reports whether a text has the planted value.
func holdsPlanted(text string) bool {
	return strings.Contains(text, planted) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(planted)))
}

func compressed(t testing.TB, template string) string {
	t.Helper()
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := writer.Write([]byte(template)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

func TestRedactLeavesOutWhatIsSecret(t *testing.T) {
	template := `{"workload":{"manifests":[{"kind":"Secret","data":{"key":"` + planted + `"}},{"kind":"ConfigMap","data":{"color":"blue"}}]}}`
	tests := map[string]struct{ object, want string }{
		"a Secret in a work, and not the ConfigMap beside it": {
			`{kind: ManifestWork, spec: {workload: {manifests: [{kind: Secret, data: {key: ` + planted + `}, stringData: {other: ` + planted +
				`}}, {kind: ConfigMap, data: {color: blue}}]}}}`,
			`{kind: ManifestWork, spec: {workload: {manifests: [{kind: Secret, data: {key: REDACTED}, stringData: {other: REDACTED}}, {kind: ConfigMap, data: {color: blue}}]}}}`,
		},
		"a Secret in a list in a set": {
			`{kind: ManifestWorkReplicaSet, spec: {manifestWorkTemplate: {workload: {manifests: [{kind: List, items: [{kind: Secret, data: {key: ` +
				planted + `}}]}]}}}}`,
			`{kind: ManifestWorkReplicaSet, spec: {manifestWorkTemplate: {workload: {manifests: [{kind: List, items: [{kind: Secret, data: {key: REDACTED}}]}]}}}}`,
		},
		"the copy of a client": {
			`{kind: ManifestWork, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: "` + planted + `", other: kept}}}`,
			`{kind: ManifestWork, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: REDACTED, other: kept}}}`,
		},
		"the copy of a client in a manifest": {
			`{kind: ManifestWork, spec: {workload: {manifests: [{kind: ConfigMap, metadata: {annotations: {kapp.k14s.io/original: ` + planted +
				`}}}]}}}`,
			`{kind: ManifestWork, spec: {workload: {manifests: [{kind: ConfigMap, metadata: {annotations: {kapp.k14s.io/original: REDACTED}}}]}}}`,
		},
		"a Secret as JSON in a text": {
			`{kind: Placement, metadata: {annotations: {example.com/copy: '{"kind":"Secret","data":{"key":"` + planted + `"}}'}}}`,
			`{kind: Placement, metadata: {annotations: {example.com/copy: '{"data":{"key":"REDACTED"},"kind":"Secret"}'}}}`,
		},
		"a text with a Secret as YAML": {
			"kind: ManifestWork\nspec: {workload: {manifests: [{kind: ConfigMap, data: {file.yaml: \"apiVersion: v1\\nkind: " +
				"Secret\\nstringData: {key: " + planted + "}\\n\"}}]}}",
			`{kind: ManifestWork, spec: {workload: {manifests: [{kind: ConfigMap, data: {file.yaml: REDACTED}}]}}}`,
		},
		"the values of an override of Secrets": {
			`{kind: ManifestWorkReplicaSet, spec: {overrides: [{targets: [{resource: secrets, name: a}], patches: [{op: replace, path: /stringData/key, value: ` + planted + `}]}, {targets: [{resource: deployments}], patches: [{op: replace, path: /spec/replicas, value: 3}]}]}}`,
			`{kind: ManifestWorkReplicaSet, spec: {overrides: [{targets: [{resource: secrets, name: a}], patches: [{op: replace, path: /stringData/key, value: REDACTED}]}, {targets: [{resource: deployments}], patches: [{op: replace, path: /spec/replicas, value: 3}]}]}}`,
		},
		"what an agent reported of a Secret": {
			`{kind: ManifestWork, status: {resourceStatus: {manifests: [{resourceMeta: {kind: Secret}, statusFeedback: {values: [{name: key, fieldValue: {type: String, string: ` + planted + `}}]}}, {resourceMeta: {kind: Deployment}, statusFeedback: {values: [{name: ready, fieldValue: {type: Integer, integer: 2}}]}}]}}}`,
			`{kind: ManifestWork, status: {resourceStatus: {manifests: [{resourceMeta: {kind: Secret}, statusFeedback: {values: [{name: key, fieldValue: REDACTED}]}}, {resourceMeta: {kind: Deployment}, statusFeedback: {values: [{name: ready, fieldValue: {type: Integer, integer: 2}}]}}]}}}`,
		},
		"a kept template": {
			`{kind: ControllerRevision, data: {manifestWorkTemplate.json.gz: ` + compressed(t, template) + `}}`,
			`{kind: ControllerRevision, data: {manifestWorkTemplate: {workload: {manifests: [{kind: Secret, data: {key: REDACTED}}, {kind: ConfigMap, data: {color: blue}}]}}}}`,
		},
		"a kept template of another form": {
			`{kind: ControllerRevision, data: {spec: ` + planted + `}}`, `{kind: ControllerRevision, data: "REDACTED: not a template of Berth"}`,
		},
		"field sets of managers, which are large": {
			`{kind: Placement, metadata: {name: web, managedFields: [{manager: kubectl}]}}`, `{kind: Placement, metadata: {name: web}}`,
		},
		"the schemas of a definition, which are large": {
			`{kind: CustomResourceDefinition, spec: {versions: [{name: v1, schema: {openAPIV3Schema: {type: object}}}]}}`,
			`{kind: CustomResourceDefinition, spec: {versions: [{name: v1}]}}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := parse(t, test.object)
			redact(object)
			if diff := cmp.Diff(parse(t, test.want).Object, object.Object); diff != "" {
				t.Errorf("redact() (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNoValueOfASecretIsLeftHoweverItIsNested wraps a Secret at random: in objects, lists and texts of JSON.
func TestNoValueOfASecretIsLeftHoweverItIsNested(t *testing.T) {
	const runs, maxWraps = 500, 12
	for seed := range uint64(runs) {
		random := rand.New(rand.NewPCG(seed, 0))
		field := []string{"data", "stringData"}[random.IntN(2)]
		var value any = map[string]any{"kind": "Secret", "apiVersion": "v1", field: map[string]any{"key": planted}}
		for range random.IntN(maxWraps) {
			switch random.IntN(3) {
			case 0:
				value = map[string]any{fmt.Sprintf("key-%d", random.IntN(9)): value, "kind": "List"}
			case 1:
				value = []any{"before", value, int64(1)}
			default:
				text, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				value = string(text)
			}
		}
		object := &unstructured.Unstructured{Object: map[string]any{"kind": "ManifestWork", "spec": value}}
		count := redact(object)
		text, err := json.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		if holdsPlanted(string(text)) || count == 0 {
			t.Fatalf("seed %d: %d values are left out of %s", seed, count, text)
		}
	}
}
