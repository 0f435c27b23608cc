package override_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/delivery/override"
)

const limit = 4096

const (
	deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web}, spec: {replicas: 2, template: {spec: {containers: [{name: web, image: web:1}]}}}}`
	secret     = `{apiVersion: v1, kind: Secret, metadata: {namespace: shop, name: web}, stringData: {password: hunter2}}`
	toWeb      = `targets: [{group: apps, resource: deployments, namespace: shop, name: web}]`
	toSecret   = `targets: [{resource: secrets, namespace: shop, name: "*"}]`
)

func env(t testing.TB) *celenv.Env {
	t.Helper()
	out, err := celenv.New()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// edge is the cluster of the tests.
func edge() *clusterv1.ManagedCluster {
	return &clusterv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "edge-7", Labels: map[string]string{
			"replicas": "5", "tier": "gold", "debug": "true",
			"version": "1.30", "octal": "007",
		}},
		Status: clusterv1.ManagedClusterStatus{ClusterClaims: []clusterv1.ManagedClusterClaim{{Name: "id.k8s.io", Value: "x-1"}}},
	}
}

func parse(t testing.TB, text string) []workv1alpha1.ClusterOverride {
	t.Helper()
	var out []workv1alpha1.ClusterOverride
	if err := yaml.UnmarshalStrict([]byte(text), &out); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return out
}

func compile(t testing.TB, text string) (*override.Overrides, field.ErrorList) {
	t.Helper()
	return override.Compile(parse(t, text), env(t), field.NewPath("overrides"))
}

func template(t testing.TB, manifests ...string) *workv1.ManifestWorkSpec {
	t.Helper()
	out := &workv1.ManifestWorkSpec{}
	for _, text := range manifests {
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		manifest := workv1.Manifest{}
		manifest.Raw = raw
		out.Workload.Manifests = append(out.Workload.Manifests, manifest)
	}
	return out
}

// at returns the value of a rendered manifest at a path such as "spec.replicas", as JSON.
func at(t testing.TB, raw []byte, path string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatal(err)
	}
	for key := range strings.SplitSeq(path, ".") {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestVariablesKeepTheirType(t *testing.T) {
	for text, want := range map[string]string{
		`"${cluster.labels['replicas']}"`:                                `5`,
		`"${ cluster.labels[\"replicas\"] }"`:                            `5`,
		`"${string(cluster.labels['replicas'])}"`:                        `"5"`,
		`"${cluster.labels['debug']}"`:                                   `true`,
		`"${cluster.labels['version']}"`:                                 `"1.30"`,
		`"${cluster.labels['octal']}"`:                                   `"007"`,
		`"${cluster.labels['tier']}"`:                                    `"gold"`,
		`"${cluster.claims['id.k8s.io']}"`:                               `"x-1"`,
		`"${cluster.name}"`:                                              `"edge-7"`,
		`"n=${cluster.labels['replicas']}"`:                              `"n=5"`,
		`"${cluster.labels['replicas']}${cluster.name}"`:                 `"5edge-7"`,
		`"https://${cluster.name}.example.com/$${HOME}"`:                 `"https://edge-7.example.com/${HOME}"`,
		`{"a": ["${cluster.labels['replicas']}", 12345678901234567890]}`: `{"a":[5,12345678901234567000]}`,
		`7`: `7`,
	} {
		overrides, errs := compile(t, `[{`+toWeb+`, patches: [{op: add, path: /spec/x, value: `+text+`}]}]`)
		if len(errs) > 0 {
			t.Fatalf("%s: %v", text, errs)
		}
		spec, failure := overrides.Render(template(t, deployment), edge(), limit)
		if failure != "" {
			t.Errorf("%s: %s", text, failure)
			continue
		}
		if got := at(t, spec.Workload.Manifests[0].Raw, "spec.x"); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

func TestOverridesApplyInOrderToTheirClustersAndTargets(t *testing.T) {
	gold := `clusterSelector: {labelSelector: {matchLabels: {tier: gold}}}`
	replicas := func(value string) string {
		return `patches: [{op: replace, path: /spec/replicas, value: ` + value + `}]`
	}
	for sentence, test := range map[string]struct{ overrides, want string }{
		"every cluster": {`[{` + toWeb + `, ` + replicas("3") + `}]`, "3"},
		"the later one wins": {
			`[{` + toWeb + `, ` + replicas("3") + `}, {` + gold + `, ` + toWeb + `, ` + replicas("4") + `}]`,
			"4",
		},
		"another label": {`[{clusterSelector: {labelSelector: {matchLabels: {tier: iron}}}, ` + toWeb + `, ` +
			replicas("3") + `}]`, "2"},
		"a claim": {`[{clusterSelector: {claimSelector: {matchClaims: {id.k8s.io: x-1}}}, ` + toWeb + `, ` +
			replicas("3") + `}]`, "3"},
		"a name": {`[{clusterSelector: {clusterNames: [edge-8]}, ` + toWeb + `, ` + replicas("3") + `}]`, "2"},
		"an expression": {
			`[{clusterSelector: {celSelector: {celExpressions: ["managedCluster.metadata.labels.tier == 'gold'"]}}, ` + toWeb + `, ` +
				replicas("3") + `}]`, "3",
		},
		"an expression that fails": {
			`[{clusterSelector: {celSelector: {celExpressions: ["managedCluster.metadata.labels.none == 'x'"]}}, ` + toWeb + `, ` + replicas("3") +
				`}]`, "2",
		},
		"all names of a namespace": {`[{targets: [{group: apps, resource: deployments, namespace: sh*, name: "*"}], ` + replicas("3") +
			`}]`, "3"},
		"another group": {`[{targets: [{resource: deployments, namespace: shop, name: web}], ` + replicas("3") + `}]`, "2"},
		"a test that holds": {`[{` + toWeb +
			`, patches: [{op: test, path: /spec/replicas, value: 2}, {op: replace, path: /spec/replicas, value: 6}]}]`, "6"},
		"a test of the identity": {`[{` + toWeb +
			`, patches: [{op: test, path: /metadata/name, value: web}, {op: replace, path: /spec/replicas, value: 6}]}]`, "6"},
		"a second patch reads what one wrote": {`[{` + toWeb +
			`, patches: [{op: add, path: /spec/x, value: {}}, {op: add, path: /spec/x/y, value: 1}, {op: remove, path: /spec/x}]}]`, "2"},
	} {
		overrides, errs := compile(t, test.overrides)
		if len(errs) > 0 {
			t.Fatalf("%s: %v", sentence, errs)
		}
		spec, failure := overrides.Render(template(t, deployment, secret), edge(), limit)
		if failure != "" {
			t.Errorf("%s: %s", sentence, failure)
			continue
		}
		if got := at(t, spec.Workload.Manifests[0].Raw, "spec.replicas"); got != test.want {
			t.Errorf("%s: %s replicas, want %s", sentence, got, test.want)
		}
	}
}

func TestAFailureIsOfTheClusterAndHasNoValues(t *testing.T) {
	for sentence, test := range map[string]struct{ overrides, want string }{
		"no such label": {
			`[{` + toSecret + `, patches: [{op: replace, path: /stringData/password, value: "hunter2-${cluster.labels['none']}"}]}]`,
			`overrides[0].patches[0] (replace /stringData/password) of Secret shop/web: the cluster has no label "none"`,
		},
		"no such claim": {
			`[{` + toWeb + `, patches: [{op: remove, path: /spec/replicas}, {op: add, path: /spec/x, value: "${cluster.claims['none']}"}]}]`,
			`overrides[0].patches[1] (add /spec/x) of Deployment shop/web: the cluster has no claim "none"`,
		},
		"a missing path": {
			`[{` + toSecret + `, patches: [{op: replace, path: /stringData/other, value: hunter2}]}]`,
			`overrides[0].patches[0] (replace /stringData/other) of Secret shop/web: the path is not there`,
		},
		"a missing parent": {
			`[{` + toWeb + `, patches: [{op: add, path: /spec/a/b, value: 1}]}]`,
			`overrides[0].patches[0] (add /spec/a/b) of Deployment shop/web: the path is not there`,
		},
		"removed twice": {
			`[{` + toWeb + `, patches: [{op: remove, path: /spec/replicas}, {op: remove, path: /spec/replicas}]}]`,
			`overrides[0].patches[1] (remove /spec/replicas) of Deployment shop/web: the path is not there`,
		},
		"a failing test": {
			`[{` + toSecret + `, patches: [{op: test, path: /stringData/password, value: hunter3}]}]`,
			`overrides[0].patches[0] (test /stringData/password) of Secret shop/web: the test failed`,
		},
		"no such item": {
			`[{` + toWeb + `, patches: [{op: add, path: /spec/template/spec/containers/7, value: {}}]}]`,
			`overrides[0].patches[0] (add /spec/template/spec/containers/7) of Deployment shop/web: the list has no such index`,
		},
		"a word for an index": {
			`[{` + toWeb + `, patches: [{op: add, path: /spec/template/spec/containers/web, value: {}}]}]`,
			`overrides[0].patches[0] (add /spec/template/spec/containers/web) of Deployment shop/web: the path does not fit the manifest`,
		},
		"a large result": {
			`[{` + toWeb + `, patches: [{op: add, path: /spec/x, value: ` + strings.Repeat("x", limit) + `}]}]`,
			fmt.Sprintf("the manifests have %d bytes with the overrides, at most %d are allowed", limit+302, limit),
		},
		"a costly expression": {
			`[{clusterSelector: {celSelector: {celExpressions: ["[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, ` +
				`[1,2,3,4,5,6,7,8,9].all(d, [1,2,3,4,5,6,7,8,9].all(e, a+b+c+d+e > 0)))))"]}}, ` + toWeb + `, patches: [{op: remove, path: /spec}]}]`,
			"overrides[0]: the CEL expressions cost too much on this cluster: select by labels or claims",
		},
	} {
		overrides, errs := compile(t, test.overrides)
		if len(errs) > 0 {
			t.Fatalf("%s: %v", sentence, errs)
		}
		spec, failure := overrides.Render(template(t, deployment, secret), edge(), limit)
		if spec != nil || failure != test.want {
			t.Errorf("%s: %q, want %q", sentence, failure, test.want)
		}
		if strings.Contains(failure, "hunter") {
			t.Errorf("%s: the failure has a value: %s", sentence, failure)
		}
	}
}

func TestARenderingIsBoundedBeforeItIsComplete(t *testing.T) {
	manifests := make([]string, 2000)
	for i := range manifests {
		manifests[i] = fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: c%d}, data: {a: b}}`, i)
	}
	value := strings.Repeat("x", 100*1024)
	overrides, errs := compile(t,
		`[{targets: [{resource: configmaps, namespace: shop, name: "*"}], patches: [{op: add, path: /data/x, value: `+value+
			`}, {op: remove, path: /data/x}]}]`)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	spec, failure := overrides.Render(template(t, manifests...), edge(), 1<<20)
	want := "overrides[0] of ConfigMap shop/c163: the overrides change more than 16777216 bytes on this cluster: let their " +
		"targets match fewer manifests"
	if spec != nil || failure != want {
		t.Errorf("Render returned %t and %q, want %q", spec != nil, failure, want)
	}
}

func TestCompileReportsEveryFault(t *testing.T) {
	identity := func(path string) string {
		return `overrides[0].patches[0].path: Invalid value: "` + path +
			`": an override may not change which object a manifest is: apiVersion, kind, name and namespace stay, and what the member fills in`
	}
	const noPointer = `: a JSON pointer begins with "/", such as "/spec/replicas"; "~1" is a slash in a key and "~0" a tilde`
	const help = "write ${cluster.name}, ${cluster.labels['key']} or ${cluster.claims['name']}, ${string(...)} around one of " +
		"them, or $${ for a literal ${"
	for text, want := range map[string]string{
		`{op: add, path: /kind, value: x}`:                      identity("/kind"),
		`{op: remove, path: /metadata}`:                         identity("/metadata"),
		`{op: add, path: /metadata/name, value: x}`:             identity("/metadata/name"),
		`{op: add, path: /metadata/name/x, value: x}`:           identity("/metadata/name/x"),
		`{op: replace, path: /metadata/namespace, value: x}`:    identity("/metadata/namespace"),
		`{op: add, path: /metadata/ownerReferences, value: []}`: identity("/metadata/ownerReferences"),
		`{op: add, path: spec, value: x}`:                       `overrides[0].patches[0].path: Invalid value: "spec"` + noPointer,
		`{op: add, path: /a~2, value: x}`:                       `overrides[0].patches[0].path: Invalid value: "/a~2"` + noPointer,
		`{op: move, path: /a, value: x}`:                        `overrides[0].patches[0].op: Unsupported value: "move": supported values: "add", "remove", "replace", "test"`,
		`{op: remove, path: /a, value: x}`:                      `overrides[0].patches[0].value: Forbidden: remove has no value`,
		`{op: add, path: /a}`:                                   `overrides[0].patches[0].value: Required value: write a value; to empty a field, remove it`,
		`{op: add, path: /a, value: ["${HOME}"]}`: "overrides[0].patches[0].value: Invalid value: a text " +
			"between ${ and } is no variable: " + help,
		`{op: add, path: /a, value: "${cluster.name"}`: `overrides[0].patches[0].value: Invalid value: "${" without "}": ` +
			help,
		`{op: add, path: /a, value: "${cluster.labels[region]}"}`: "overrides[0].patches[0].value: Invalid value: a text " +
			"between ${ and } is no variable: " + help,
		`{op: add, path: /a, value: "${cluster.annotations['hunter2']}"}`: "overrides[0].patches[0].value: Invalid value: a text " +
			"between ${ and } is no variable: " + help,
		`{op: add, path: /metadata/labels/a, value: "${cluster.name}"}`:    "",
		`{op: remove, path: /metadata/annotations/name}`:                   "",
		`{op: add, path: /spec/template/metadata/name, value: "anything"}`: "",
	} {
		_, errs := compile(t, `[{`+toWeb+`, patches: [`+text+`]}]`)
		got := ""
		if len(errs) > 0 {
			got = errs[0].Error()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestCompileBoundsItsInput(t *testing.T) {
	patches := `patches: [{op: remove, path: /a}]`
	for sentence, test := range map[string]struct{ text, want string }{
		"too many overrides": {
			"[" + strings.Repeat("{"+toWeb+", "+patches+"}, ", 21) + "]",
			"overrides: Too many: 21: must have at most 20 items",
		},
		"no target": {`[{targets: [], ` + patches + `}]`, "overrides[0].targets: Required value: name at least one manifest"},
		"no name": {
			`[{targets: [{resource: a, name: ""}], ` + patches + `}]`,
			`overrides[0].targets[0].name: Required value: write a name, or "*" for every name`,
		},
		"no patch": {`[{` + toWeb + `, patches: []}]`, "overrides[0].patches: Required value: write at least one operation"},
		"too many patches": {
			`[{` + toWeb + `, patches: [` + strings.Repeat("{op: remove, path: /a}, ", 21) + `]}]`,
			"overrides[0].patches: Too many: 21: must have at most 20 items",
		},
		"large values": {
			`[{` + toWeb + `, patches: [{op: add, path: /a, value: ` + strings.Repeat("x", 200_000) + `}]}]`,
			"overrides: Invalid value: the values of its patches have 200002 bytes together, at most 131072 are allowed",
		},
		"a long expression": {
			`[{clusterSelector: {celSelector: {celExpressions: ["` + strings.Repeat(" ", 20_000) + `true"]}}, ` + toWeb + `, ` + patches + `}]`,
			"overrides: Invalid value: its CEL expressions are too long or too complex: select by labels, claims or names instead",
		},
		"scores": {
			`[{clusterSelector: {celSelector: {celExpressions: ["managedCluster.scores('gpu').size() > 0"]}}, ` + toWeb + `, ` + patches + `}]`,
			"overrides[0].clusterSelector.celSelector.celExpressions[0]: Forbidden: an override may not read scores: use labels or claims",
		},
		"a label that no cluster can have": {
			`[{clusterSelector: {labelSelector: {matchLabels: {a b: c}}}, ` + toWeb + `, ` + patches + `}]`,
			"overrides[0].clusterSelector.labelSelector.matchLabels[a b]: Invalid value",
		},
	} {
		_, errs := compile(t, test.text)
		if len(errs) == 0 || !strings.HasPrefix(errs[0].Error(), test.want) {
			t.Errorf("%s: %v, want %s", sentence, errs, test.want)
		}
	}
}

func TestFacetsAreWhatARenderingReads(t *testing.T) {
	value := func(text string) string { return toWeb + `, patches: [{op: add, path: /a, value: "` + text + `"}]` }
	for text, want := range map[string]fleet.Facet{
		value("x"):                                            0,
		value("${cluster.name}"):                              0,
		value("${cluster.labels['a']}"):                       fleet.FacetLabels,
		value("x-${cluster.claims['a']}"):                     fleet.FacetClaims,
		`clusterSelector: {clusterNames: [a]}, ` + value("x"): 0,
		`clusterSelector: {labelSelector: {matchLabels: {a: b}}}, ` +
			value("x"): fleet.FacetLabels,
		`clusterSelector: {claimSelector: {matchClaims: {a: b}}}, ` +
			value("${cluster.labels['a']}"): fleet.FacetLabels | fleet.FacetClaims,
		`clusterSelector: {celSelector: {celExpressions: ["managedCluster.status.version.kubernetes == 'v1'"]}}, ` +
			value("x"): fleet.FacetStatus,
	} {
		overrides, errs := compile(t, "[{"+text+"}]")
		if len(errs) > 0 {
			t.Fatalf("%s: %v", text, errs)
		}
		if got := overrides.Facets(); got != want {
			t.Errorf("%s reads %b, want %b", text, got, want)
		}
	}
}
