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

func withSpread(terms ...clusterv1beta1.SpreadConstraintsTerm) specOption {
	return func(spec *clusterv1beta1.PlacementSpec) { spec.SpreadPolicy.SpreadConstraints = terms }
}

func withAntiAffinity(terms ...clusterv1beta1.AntiAffinityTerm) specOption {
	return func(spec *clusterv1beta1.PlacementSpec) { spec.SpreadPolicy.AntiAffinity = terms }
}

func topologyTerm(of clusterv1beta1.TopologyKeyType, key string) clusterv1beta1.SpreadConstraintsTerm {
	return clusterv1beta1.SpreadConstraintsTerm{TopologyKey: key, TopologyKeyType: of}
}

func repeat[T any](n int, of func(key string) T) []T {
	var out []T
	for i := range n {
		out = append(out, of(fmt.Sprint(i)))
	}
	return out
}

func TestSpreadIsRefused(t *testing.T) {
	const at = "spec.spreadPolicy.spreadConstraints"
	labelled := func(key string) clusterv1beta1.SpreadConstraintsTerm { return topologyTerm("Label", key) }
	skewed, odd, twice := labelled("r"), labelled("r"), labelled("r")
	skewed.MaxSkew, odd.WhenUnsatisfiable, twice.MaxSkew = -1, "Maybe", 3
	checkErrors(t, map[string]wantError{
		"eight constraints are fine":     {withSpread(repeat(8, labelled)...), nil},
		"nine are too many":              {withSpread(repeat(9, labelled)...), []string{at + ": Too many: 9: must have at most 8 items"}},
		"a label and a claim of one key": {withSpread(topologyTerm("Label", "r"), topologyTerm("Claim", "r")), nil},
		"no key": {
			withSpread(labelled("")),
			[]string{at + "[0].topologyKey: Required value: name the label or claim whose values are the domains"},
		},
		"no type": {
			withSpread(topologyTerm("", "r")),
			[]string{at + `[0].topologyKeyType: Unsupported value: "": supported values: "Claim", "Label"`},
		},
		"a skew below nothing": {withSpread(skewed), []string{at + "[0].maxSkew: Invalid value: -1: must be 1 or more"}},
		"an unknown action": {withSpread(odd), []string{at +
			`[0].whenUnsatisfiable: Unsupported value: "Maybe": supported values: "DoNotSchedule", "ScheduleAnyway"`}},
		"one topology twice": {
			withSpread(labelled("r"), labelled("z"), twice),
			[]string{at + `[2].topologyKey: Duplicate value: "label r"`},
		},
		"one topology of an unknown type twice": {withSpread(topologyTerm("Star", "r"), topologyTerm("Star", "r")), []string{
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
	checkErrors(t, map[string]wantError{
		"eight terms are fine":           {withAntiAffinity(repeat(8, labelled)...), nil},
		"nine are too many":              {withAntiAffinity(repeat(9, labelled)...), []string{at + ": Too many: 9: must have at most 8 items"}},
		"a label and a claim of one key": {withAntiAffinity(labelled("r"), claimed), nil},
		"no key": {
			withAntiAffinity(labelled("")),
			[]string{at + "[0].topologyKey: Required value: name the label or claim whose values are the domains"},
		},
		"one topology twice": {
			withAntiAffinity(labelled("r"), labelled("r")),
			[]string{at + `[1].topologyKey: Duplicate value: "label r"`},
		},
		"the topology of a constraint": {func(spec *clusterv1beta1.PlacementSpec) {
			withAntiAffinity(labelled("r"))(spec)
			withSpread(topologyTerm("Label", "r"))(spec)
		}, nil},
	})
}

func TestSpreadCompiles(t *testing.T) {
	hard, soft, wide := topologyTerm("Label", "region"), topologyTerm("Claim", "zone"), topologyTerm("Label", "rack")
	hard.WhenUnsatisfiable, soft.WhenUnsatisfiable, wide.MaxSkew = clusterv1beta1.DoNotSchedule, clusterv1beta1.ScheduleAnyway, 4
	region := program.Constraint{Topology: program.Topology{Source: fleet.Label, Key: "region"}, MaxSkew: 1, Hard: true}
	zone := program.Constraint{Topology: program.Topology{Source: fleet.Claim, Key: "zone"}, MaxSkew: 1}
	rack := program.Constraint{Topology: program.Topology{Source: fleet.Label, Key: "rack"}, MaxSkew: 4}
	number := func(spec *clusterv1beta1.PlacementSpec) { spec.NumberOfClusters = new(int32(3)) }
	for name, tc := range map[string]struct {
		spec []specOption
		want []program.Constraint
	}{
		"none":                                 {},
		"all of them where a number is wanted": {[]specOption{number, withSpread(soft, hard, wide)}, []program.Constraint{zone, region, rack}},
		"only hard constraints if every cluster is selected": {[]specOption{withSpread(soft, hard, wide)}, []program.Constraint{region}},
		"no soft constraint if every cluster is selected":    {[]specOption{withSpread(soft)}, []program.Constraint{}},
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
			got := enginetest.Program(t, enginetest.NewState(tc.placement.Obj()))
			if got.SpreadWeight != tc.want {
				t.Errorf("weight %d, want %d", got.SpreadWeight, tc.want)
			}
			if got.HasPrioritizer(program.Spread) {
				t.Error("Spread is among the prioritizers that have a column")
			}
		})
	}
}
