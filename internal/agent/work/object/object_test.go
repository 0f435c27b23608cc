package object

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

func resolve(t *testing.T, text string, configs ...workv1.ManifestConfigOption) Manifest {
	t.Helper()
	spec := &workv1.ManifestWorkSpec{ManifestConfigs: configs}
	spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(text)}}}
	return Parse(spec)[0].Resolve(func(kind schema.GroupVersionKind) (string, bool, error) {
		switch kind.Kind {
		case "ConfigMap":
			return "configmaps", true, nil
		case "Namespace":
			return "namespaces", false, nil
		default:
			return "", false, UnknownKindError{kind}
		}
	}, spec)
}

func TestTheHashIgnoresOrderAndWhatTheServerWrites(t *testing.T) {
	one := resolve(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n"},"data":{"x":"1","y":"2"}}`)
	same := resolve(t,
		`{"data":{"y":"2","x":"1"},"metadata":{"uid":"u","resourceVersion":"7","namespace":"n","name":"a"},"kind":"ConfigMap","apiVersion":"v1","status":{}}`)
	other := resolve(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n"},"data":{"x":"1","y":"3"}}`)
	forced := resolve(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n"},"data":{"x":"1","y":"2"}}`,
		workv1.ManifestConfigOption{
			ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: "n", Name: "*"},
			UpdateStrategy:     &workv1.UpdateStrategy{Type: ServerSideApply},
		})
	if one.Hash == "" || one.Hash != same.Hash || one.Hash == other.Hash || one.Hash == forced.Hash {
		t.Errorf("the hashes are %s, %s, %s and %s", one.Hash, same.Hash, other.Hash, forced.Hash)
	}
}

func TestManifestsThatCannotBeObjects(t *testing.T) {
	for text, want := range map[string]error{
		`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}]}`:                                  errList,
		`{"apiVersion":"v1","kind":"ConfigMapList","metadata":{"name":"a"},"items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}]}`: errList,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"n"}}`:                                                                         errNoName,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`:                                                                              errNamespace,
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","namespace":"n"}}`:                                                              errClusterWide,
	} {
		if got := resolve(t, text).Fault; !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if _, ok := errors.AsType[UnknownKindError](resolve(t, `{"apiVersion":"v1","kind":"Other","metadata":{"name":"a"}}`).Fault); !ok {
		t.Error("an unknown kind has no error of its own")
	}
}

func TestGlob(t *testing.T) {
	for pattern, texts := range map[string]map[string]bool{
		"":      {"": true, "a": false},
		"*":     {"": true, "a": true},
		"a*":    {"a": true, "ab": true, "ba": false},
		"a*c":   {"ac": true, "abc": true, "abcd": false},
		"a*a":   {"a": false, "aa": true},
		"*b*d*": {"abcde": true, "adcbe": false},
	} {
		for text, want := range texts {
			if got := glob(pattern, text); got != want {
				t.Errorf("glob(%q, %q) = %t", pattern, text, got)
			}
		}
	}
}

func TestRanks(t *testing.T) {
	order := []ID{
		{Resource: "namespaces"},
		{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
		{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
		{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"},
		{Resource: "serviceaccounts"},
		{Resource: "secrets"},
		{Group: "networking.k8s.io", Resource: "ingresses"},
		{Group: "apps", Resource: "deployments"},
		{Group: "example.com", Resource: "deployments"},
		{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"},
	}
	var got []Rank
	for _, id := range order {
		got = append(got, RankOf(id))
	}
	if diff := cmp.Diff([]Rank{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, got); diff != "" {
		t.Errorf("ranks (-want +got):\n%s", diff)
	}
}

func TestOrphans(t *testing.T) {
	id := ID{Resource: "namespaces", Name: "a"}
	rule := workv1.OrphaningRule{Resource: "namespaces", Name: "a"}
	for sentence, test := range map[string]struct {
		option *workv1.DeleteOption
		want   bool
	}{
		"nothing set": {nil, false},
		"foreground":  {&workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeForeground}, false},
		"orphan":      {&workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}, true},
		"a rule for it": {&workv1.DeleteOption{
			PropagationPolicy: workv1.DeletePropagationPolicyTypeSelectivelyOrphan,
			SelectivelyOrphan: &workv1.SelectivelyOrphan{OrphaningRules: []workv1.OrphaningRule{rule}},
		}, true},
		"a rule for none": {&workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeSelectivelyOrphan}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := Orphans(test.option)(id); got != test.want {
				t.Errorf("Orphans = %t", got)
			}
		})
	}
}
