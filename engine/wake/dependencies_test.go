package wake

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// TestEqualDependenciesShareASubscription adds programs with different dependencies, each twice.
func TestEqualDependenciesShareASubscription(t *testing.T) {
	by := func(operator metav1.LabelSelectorOperator, values ...string) program.Predicate {
		selector, faults := fleet.LabelSelector(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "stage", Operator: operator, Values: values},
		}}, nil)
		if len(faults) > 0 {
			t.Fatal(faults.ToAggregate())
		}
		return program.Predicate{Selector: selector}
	}
	in, notIn := by(metav1.LabelSelectorOpIn, "a", "b"), by(metav1.LabelSelectorOpNotIn, "a", "b")
	a, b := by(metav1.LabelSelectorOpIn, "a"), by(metav1.LabelSelectorOpIn, "b")
	scored := func(resource string) []program.Prioritizer {
		return []program.Prioritizer{{Kind: program.AddOn, Resource: resource}}
	}
	over := func(source fleet.Source) []program.Topology {
		return []program.Topology{{Source: source, Key: "stage"}}
	}
	programs := []*program.Program{
		nil,
		{},
		{ClusterSets: []string{"one"}},
		{Budget: &program.Budget{}},
		{Budget: &program.Budget{Percent: true}},
		{Predicates: []program.Predicate{in}},
		{Predicates: []program.Predicate{notIn}},
		{Predicates: []program.Predicate{a, b}},
		{Predicates: []program.Predicate{b}},
		{Predicates: []program.Predicate{{Selector: append(a.Selector[:1:1], b.Selector...)}}},
		{Predicates: []program.Predicate{by(metav1.LabelSelectorOpExists)}},
		{Predicates: []program.Predicate{by(metav1.LabelSelectorOpDoesNotExist)}},
		{Tiers: []program.Tier{{Predicate: a}}},
		{Tiers: []program.Tier{{Predicate: a}}, Predicates: []program.Predicate{a}},
		{AntiAffinity: over(fleet.Label)},
		{AntiAffinity: over(fleet.Claim)},
		{Prioritizers: scored("x")},
		{Prioritizers: scored("y")},
		{Prioritizers: []program.Prioritizer{{Kind: program.AllocatableCPU}}},
		{Prioritizers: []program.Prioritizer{{Kind: program.AllocatableMemory}}},
	}
	x, s := NewIndex(), snapshotWith("one", "two")
	for n, p := range append(programs, programs...) {
		x.Put(s, fleet.Key{Namespace: fmt.Sprintf("ns-%d", n%3), Name: fmt.Sprint(n)}, p)
	}
	if len(x.subscriptions) != len(programs) {
		t.Errorf("%d subscriptions, want %d", len(x.subscriptions), len(programs))
	}
	for _, r := range x.subscriptions {
		if len(r.placements) != 2 {
			t.Errorf("%v share a subscription, want two placements", r.placements)
		}
	}
}
