package migrate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &out.Object); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSelectorsAreRenamed(t *testing.T) {
	tests := map[string]struct {
		set  string
		want bool
	}{
		"the former name":  {`{spec: {clusterSelector: {selectorType: LegacyClusterSetLabel}}}`, true},
		"the present name": {`{spec: {clusterSelector: {selectorType: ExclusiveClusterSetLabel}}}`, false},
		"another selector": {`{spec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {}}}}`, false},
		"no selector":      {`{spec: {}}`, false},
	}
	for name, test := range tests {
		set := parse(t, test.set)
		if got := renameSelector(set); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
		if renameSelector(set) {
			t.Errorf("%s: the second time it is renamed again", name)
		}
	}
}

func TestPrioritizersGetCoordinates(t *testing.T) {
	old := parse(t, `{spec: {prioritizerPolicy: {configurations: [{name: Steady, weight: 3}, {name: Balance}, {weight: 1}]}}}`)
	now := parse(t,
		`{spec: {prioritizerPolicy: {configurations: [{weight: 3}, {scoreCoordinate: {type: AddOn, addOn: {resourceName: a, scoreName: b}}}, {weight: 1}]}}}`)
	want := parse(t,
		`{spec: {prioritizerPolicy: {configurations: [{weight: 3, scoreCoordinate: {type: BuiltIn, builtIn: Steady}}, {scoreCoordinate: {type: AddOn, addOn: {resourceName: a, scoreName: b}}}, {weight: 1}]}}}`)
	if !nameCoordinates(now, prioritizerNames(old)) {
		t.Error("nothing is changed")
	}
	if diff := cmp.Diff(want.Object, now.Object, cmp.Transformer("number", number)); diff != "" {
		t.Errorf("after it (-want +got):\n%s", diff)
	}
	if nameCoordinates(now, prioritizerNames(old)) {
		t.Error("the second time something is changed")
	}
}

// number makes numbers of JSON comparable, whatever their type.
func number(value int64) float64 { return float64(value) }

func TestRolesOfSetsAreRecognized(t *testing.T) {
	tests := map[string]struct{ role, level, set string }{
		"an admin":           {"open-cluster-management:managedclusterset:admin:dev", "admin", "dev"},
		"a binder":           {"open-cluster-management:managedclusterset:bind:dev.eu", "binder", "dev.eu"},
		"a viewer":           {"open-cluster-management:managedclusterset:view:dev", "viewer", "dev"},
		"an unknown level":   {"open-cluster-management:managedclusterset:owner:dev", "", ""},
		"no set":             {"open-cluster-management:managedclusterset:admin:", "", ""},
		"a role of clusters": {"open-cluster-management:managedcluster:edge-1", "", ""},
	}
	for name, test := range tests {
		level, set, ok := setRole(parse(t, `{roleRef: {name: "`+test.role+`"}}`))
		if ok != (test.level != "") || ok && (level != test.level || set != test.set) {
			t.Errorf("%s: %s of %s, %v", name, level, set, ok)
		}
	}
}

func TestStoredVersionsNeedNoMigrationWhenTheyAreThePresentOne(t *testing.T) {
	tests := map[string]struct {
		definition string
		want       []string
	}{
		"the present one": {`{spec: {versions: [{name: v1beta1, storage: true}]}, status: {storedVersions: [v1beta1]}}`, nil},
		"a former one too": {
			`{spec: {versions: [{name: v1alpha1, storage: false}, {name: v1beta1, storage: true}]}, status: {storedVersions: [v1alpha1, v1beta1]}}`,
			[]string{"v1alpha1"},
		},
		"nothing was stored": {`{spec: {versions: [{name: v1beta1, storage: true}]}}`, nil},
	}
	for name, test := range tests {
		version, others := storedVersions(parse(t, test.definition))
		if diff := cmp.Diff(test.want, append([]string(nil), others...)); diff != "" || version != "v1beta1" {
			t.Errorf("%s: version %s, others (-want +got):\n%s", name, version, diff)
		}
	}
}

func TestVersionsThatAreNotServedAreNotStoredAgain(t *testing.T) {
	d := parse(t,
		`{spec: {versions: [{name: v1alpha1, served: false}, {name: v1alpha2, served: true}, {name: v1beta1, served: true, storage: true}]}}`)
	if diff := cmp.Diff([]string{"v1alpha0", "v1alpha1"}, unserved(d, []string{"v1alpha0", "v1alpha1", "v1alpha2"})); diff != "" {
		t.Errorf("unserved() (-want +got):\n%s", diff)
	}
}
