package clusterset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/internal/admission/clusterset"
)

const (
	setLabel = "cluster.open-cluster-management.io/clusterset"
	region   = "info.open-cluster-management.io/region"
)

func TestValidate(t *testing.T) {
	matching := func(selector metav1.LabelSelector) *clusterset.Set {
		return enginetest.Set("dev").Type("LabelSelector").Matching(selector).Obj()
	}
	bad := matching(metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}})
	worse := matching(metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c", "d e": "f"}})
	labelled := bad.DeepCopy()
	labelled.Labels = map[string]string{"x": "y"}
	exclusive := func(name, key, value string) *clusterset.Set { return enginetest.Set(name).Exclusive(key, value).Obj() }
	nothing := matching(metav1.LabelSelector{})
	nothing.Spec.ClusterSelector.LabelSelector = nil
	global := matching(metav1.LabelSelector{})
	global.Name = "global"
	plain := enginetest.Set("dev").Obj()
	const invalid = `ManagedClusterSet.cluster.open-cluster-management.io "dev" is invalid: spec.clusterSelector`
	taken := func(path, label, by string) string {
		return invalid + path + `: Invalid value: "` + label + `": the set "` + by + `" claims this label already; only one set may claim a label`
	}
	for name, tc := range map[string]struct {
		old, after *clusterset.Set
		stored     []clusterset.Set
		want       string
		warnings   []string
	}{
		"by the clusterset label": {after: plain},
		"by labels":               {after: matching(enginetest.LabelIs("a", "b"))},
		"by an exclusive label":   {after: exclusive("dev", region, "eu")},
		"an unknown type": {
			after: enginetest.Set("dev").Type("Guess").Obj(),
			want: invalid +
				`.selectorType: Unsupported value: "Guess": supported values: "ExclusiveClusterSetLabel", "LabelSelector", "ExclusiveLabel"`,
		},
		"exclusive without a label": {
			after: enginetest.Set("dev").Type("ExclusiveLabel").Obj(),
			want:  invalid + `.exclusiveLabel: Required value: give the key and value that make a member`,
		},
		"exclusive by a label that is not reserved": {
			after: exclusive("dev", "env", "x"),
			want: invalid +
				`.exclusiveLabel.key: Invalid value: "env": must start with cluster.open-cluster-management.io/ or info.open-cluster-management.io/, which only permitted users may put on a cluster`,
		},
		"exclusive by no value": {
			after: exclusive("dev", region, ""),
			want:  invalid + `.exclusiveLabel.value: Required value: set the value of the label that makes a cluster a member`,
		},
		"an invalid label": {after: bad, want: invalid +
			`.labelSelector.matchLabels[a b]: Invalid value: "c": key: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`},
		"wrong before, another field changed": {
			old: bad, after: labelled,
		},
		"wrong before, and now corrected": {old: bad, after: plain},
		"wrong before, and another error": {
			old: bad, after: worse,
			want: invalid +
				`.labelSelector.matchLabels[d e]: Invalid value: "f": key: Invalid value: "d e": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
		},
		"a label that another set claims": {
			after:  exclusive("dev", region, "eu"),
			stored: []clusterset.Set{*exclusive("a", region, "us"), *exclusive("b", region, "eu")},
			want:   taken(".exclusiveLabel", region+"=eu", "b"),
		},
		"its own label": {after: exclusive("dev", region, "eu"), stored: []clusterset.Set{*exclusive("dev", region, "eu")}},
		"the clusterset label of another": {
			after: exclusive("dev", setLabel, "prod"), stored: []clusterset.Set{*enginetest.Set("prod").Obj()},
			want: taken(".exclusiveLabel", setLabel+"=prod", "prod"),
		},
		"a name whose label is claimed": {
			after: plain, stored: []clusterset.Set{*exclusive("other", setLabel, "dev")},
			want: taken("", setLabel+"=dev", "other"),
		},
		"an old conflict, unchanged": {
			old: exclusive("dev", region, "eu"), after: exclusive("dev", region, "eu"),
			stored: []clusterset.Set{*exclusive("b", region, "eu")},
		},
		"the same label in the other type": {
			old: plain, after: exclusive("dev", setLabel, "dev"),
			stored: []clusterset.Set{*exclusive("b", setLabel, "dev")},
		},
		"a missing selector": {after: nothing, warnings: []string{
			"spec.clusterSelector.labelSelector is absent, so that no cluster is a member; {} makes every cluster one",
		}},
		"a selector of everything": {
			after:    matching(metav1.LabelSelector{}),
			warnings: []string{"spec.clusterSelector.labelSelector is empty, so that every cluster of the hub is a member"},
		},
		"the set of all clusters": {after: global},
		"a selector that its type does not read": {
			after: withSelector(clusterv1beta2.ManagedClusterSelector{
				SelectorType: clusterv1beta2.ExclusiveClusterSetLabel, LabelSelector: &metav1.LabelSelector{},
			}),
			warnings: []string{"spec.clusterSelector.labelSelector is not read, since spec.clusterSelector.selectorType is " +
				"ExclusiveClusterSetLabel: remove it, or set the type to LabelSelector"},
		},
		"a label that its type does not read": {
			after: withSelector(clusterv1beta2.ManagedClusterSelector{
				SelectorType: clusterv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{},
				ExclusiveLabel: &clusterv1beta2.ExclusiveLabelSelector{Key: region, Value: "eu"},
			}),
			warnings: []string{"spec.clusterSelector.exclusiveLabel is not read, since spec.clusterSelector.selectorType is " +
				"LabelSelector: remove it, or set the type to ExclusiveLabel"},
		},
		"a selector of nothing": {
			after: matching(metav1.LabelSelector{
				MatchLabels:      map[string]string{"a": "b"},
				MatchExpressions: []metav1.LabelSelectorRequirement{enginetest.Wants("a", "DoesNotExist")},
			}),
			warnings: []string{"spec.clusterSelector.labelSelector matches no cluster, since no cluster can meet both label a=b " +
				"and label a does not exist"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := clusterset.Validate(tc.old, tc.after, tc.stored)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("refusal (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.warnings, answer.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// withSelector returns the set dev with a selector.
func withSelector(selector clusterv1beta2.ManagedClusterSelector) *clusterset.Set {
	out := enginetest.Set("dev").Obj()
	out.Spec.ClusterSelector = selector
	return out
}
