package placement_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/internal/admission/placement"
)

func p() *enginetest.PlacementBuilder { return enginetest.Placement("team", "p") }

func TestValidate(t *testing.T) {
	const invalid = `Placement.cluster.open-cluster-management.io "p" is invalid: `
	for name, tc := range map[string]struct {
		old, after *enginetest.PlacementBuilder
		want       string
	}{
		"an empty spec": {nil, p(), ""},
		"an error": {
			nil, p().Mode("Loose"),
			invalid + `spec.prioritizerPolicy.mode: Invalid value: "Loose": incorrect prioritizer policy mode: Loose, use Additive or Exact`,
		},
		"several errors": {
			nil, p().Number(-1).CEL("1 + 1"),
			invalid +
				`[spec.numberOfClusters: Invalid value: -1: must be 0 or more, spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]: Invalid value: "1 + 1": compilation failed: the expression yields int, want bool]`,
		},
		"wrong before, another field changed": {p().Mode("Loose"), p().Mode("Loose").Number(3), ""},
		"wrong before, moved in its list":     {p().CEL("true").CEL("1 + 1"), p().CEL("1 + 1"), ""},
		"wrong before, and another error": {
			p().Mode("Loose"), p().Mode("Loose").Number(-1),
			invalid + `spec.numberOfClusters: Invalid value: -1: must be 0 or more`,
		},
		"wrong before, with another error now": {
			p().CEL("1 + 1"), p().CEL("2 + 2"),
			invalid +
				`spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]: Invalid value: "2 + 2": compilation failed: the expression yields int, want bool`,
		},
		"wrong before, and now corrected": {p().Mode("Loose"), p(), ""},
		"good, and now wrong": {
			p(), p().Mode("Loose"),
			invalid + `spec.prioritizerPolicy.mode: Invalid value: "Loose": incorrect prioritizer policy mode: Loose, use Additive or Exact`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var old *clusterv1beta1.Placement
			if tc.old != nil {
				old = tc.old.Obj()
			}
			_, err := placement.Validate(old, tc.after.Obj(), enginetest.Env(t))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("refusal (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	const noSets = `no cluster set is bound to the namespace "team", so no cluster can be selected; create a ManagedClusterSetBinding`
	for name, tc := range map[string]struct {
		placement *enginetest.PlacementBuilder
		bound     []string
		want      []string
	}{
		"no warning":               {p().Sets("dev"), []string{"dev"}, nil},
		"all sets, and one bound":  {p(), []string{"dev"}, nil},
		"all sets, and none bound": {p(), nil, []string{noSets}},
		"a set that is not bound": {p().Sets("dev", "prod"), []string{"dev"}, []string{
			`spec.clusterSets[1]: the cluster set "prod" is not bound to the namespace "team", so it adds no clusters`,
		}},
		"a predicate of nothing": {p().Claims(enginetest.Wants("a", "In", "b")).Claims(enginetest.Wants("a", "Exists"),
			enginetest.Wants("a", "DoesNotExist")), []string{"dev"}, []string{
			"spec.predicates[1] matches no cluster, since no cluster can meet both claim a exists and claim a does not exist",
		}},
		"a group name twice": {p().GroupByLabel("canary", "a", "b").GroupByLabel("canary", "a", "c"), []string{"dev"}, []string{
			`spec.decisionStrategy.groupStrategy.decisionGroups[1] has the same name "canary" as an earlier group; readers cannot distinguish the two by name`,
		}},
		"old faults remain": {p().Mode("Loose"), nil, []string{noSets}},
	} {
		t.Run(name, func(t *testing.T) {
			object := tc.placement.Obj()
			compiled, err := placement.Validate(object, object, enginetest.Env(t))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, placement.Warnings(object, compiled, sets.New(tc.bound...))); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
