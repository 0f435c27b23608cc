package program_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

func spreading(terms ...clusterv1beta1.SpreadConstraintsTerm) change {
	return func(spec *clusterv1beta1.PlacementSpec) { spec.SpreadPolicy.SpreadConstraints = terms }
}

func apart(terms ...clusterv1beta1.AntiAffinityTerm) change {
	return func(spec *clusterv1beta1.PlacementSpec) { spec.SpreadPolicy.AntiAffinity = terms }
}

func over(of clusterv1beta1.TopologyKeyType, key string) clusterv1beta1.SpreadConstraintsTerm {
	return clusterv1beta1.SpreadConstraintsTerm{TopologyKey: key, TopologyKeyType: of}
}

func many[T any](n int, of func(key string) T) []T {
	var out []T
	for i := range n {
		out = append(out, of(fmt.Sprint(i)))
	}
	return out
}

func TestSpreadIsRefused(t *testing.T) {
	const at = "spec.spreadPolicy.spreadConstraints"
	labelled := func(key string) clusterv1beta1.SpreadConstraintsTerm { return over("Label", key) }
	skewed, odd, twice := labelled("r"), labelled("r"), labelled("r")
	skewed.MaxSkew, odd.WhenUnsatisfiable, twice.MaxSkew = -1, "Maybe", 3
	refuse(t, map[string]refusal{
		"eight constraints are fine":     {spreading(many(8, labelled)...), nil},
		"nine are too many":              {spreading(many(9, labelled)...), []string{at + ": Too many: 9: must have at most 8 items"}},
		"a label and a claim of one key": {spreading(over("Label", "r"), over("Claim", "r")), nil},
		"no key":                         {spreading(labelled("")), []string{at + "[0].topologyKey: Required value: name the label or claim whose values are the domains"}},
		"no type":                        {spreading(over("", "r")), []string{at + `[0].topologyKeyType: Unsupported value: "": supported values: "Claim", "Label"`}},
		"a skew below nothing":           {spreading(skewed), []string{at + "[0].maxSkew: Invalid value: -1: must be 1 or more"}},
		"an unknown action":              {spreading(odd), []string{at + `[0].whenUnsatisfiable: Unsupported value: "Maybe": supported values: "DoNotSchedule", "ScheduleAnyway"`}},
		"one topology twice":             {spreading(labelled("r"), labelled("z"), twice), []string{at + `[2].topologyKey: Duplicate value: "label r"`}},
		"one topology of an unknown type twice": {spreading(over("Star", "r"), over("Star", "r")), []string{
			at + `[0].topologyKeyType: Unsupported value: "Star": supported values: "Claim", "Label"`,
			at + `[1].topologyKeyType: Unsupported value: "Star": supported values: "Claim", "Label"`,
		}},
	})
}

func TestAntiAffinityIsRefused(t *testing.T) {
	const at = "spec.spreadPolicy.antiAffinity"
	labelled := func(key string) clusterv1beta1.AntiAffinityTerm {
		return clusterv1beta1.AntiAffinityTerm{TopologyKey: key, TopologyKeyType: "Label"}
	}
	claimed := clusterv1beta1.AntiAffinityTerm{TopologyKey: "r", TopologyKeyType: "Claim"}
	refuse(t, map[string]refusal{
		"eight terms are fine":           {apart(many(8, labelled)...), nil},
		"nine are too many":              {apart(many(9, labelled)...), []string{at + ": Too many: 9: must have at most 8 items"}},
		"a label and a claim of one key": {apart(labelled("r"), claimed), nil},
		"no key":                         {apart(labelled("")), []string{at + "[0].topologyKey: Required value: name the label or claim whose values are the domains"}},
		"one topology twice":             {apart(labelled("r"), labelled("r")), []string{at + `[1].topologyKey: Duplicate value: "label r"`}},
		"the topology of a constraint": {func(spec *clusterv1beta1.PlacementSpec) {
			apart(labelled("r"))(spec)
			spreading(over("Label", "r"))(spec)
		}, nil},
	})
}

func TestSpreadCompiles(t *testing.T) {
	hard, soft, wide := over("Label", "region"), over("Claim", "zone"), over("Label", "rack")
	hard.WhenUnsatisfiable, soft.WhenUnsatisfiable, wide.MaxSkew = clusterv1beta1.DoNotSchedule, clusterv1beta1.ScheduleAnyway, 4
	region := program.Constraint{Topology: program.Topology{Source: fleet.Label, Key: "region"}, MaxSkew: 1, Hard: true}
	zone := program.Constraint{Topology: program.Topology{Source: fleet.Claim, Key: "zone"}, MaxSkew: 1}
	rack := program.Constraint{Topology: program.Topology{Source: fleet.Label, Key: "rack"}, MaxSkew: 4}
	number := func(spec *clusterv1beta1.PlacementSpec) { spec.NumberOfClusters = new(int32(3)) }
	for name, tc := range map[string]struct {
		spec []change
		want []program.Constraint
	}{
		"none":                                   {},
		"all of them where a number is wanted":   {[]change{number, spreading(soft, hard, wide)}, []program.Constraint{zone, region, rack}},
		"hard ones alone where everybody wanted": {[]change{spreading(soft, hard, wide)}, []program.Constraint{region}},
		"no soft one where everybody is wanted":  {[]change{spreading(soft)}, []program.Constraint{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, compiled(t, tc.spec...).Spread); diff != "" {
				t.Errorf("constraints (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpreadWeight(t *testing.T) {
	for name, tc := range map[string]struct {
		placement *enginetest.PlacementBuilder
		want      int64
	}{
		"by default 2":                     {p(), 2},
		"Additive overrides it":            {p().BuiltIn("Spread", 5), 5},
		"0 switches it off":                {p().BuiltIn("Spread", 0), 0},
		"Exact is 0 where it's not listed": {p().Mode("Exact").BuiltIn("Steady", 1), 0},
		"Exact takes what is listed":       {p().Mode("Exact").BuiltIn("Spread", -3), -3},
	} {
		t.Run(name, func(t *testing.T) {
			got := enginetest.Program(t, enginetest.NewWorld(tc.placement.Obj()))
			if got.SpreadWeight != tc.want {
				t.Errorf("weight %d, want %d", got.SpreadWeight, tc.want)
			}
			if got.Scores(program.Spread) {
				t.Error("Spread is among the prioritizers that have a column")
			}
		})
	}
}
