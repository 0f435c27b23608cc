package program

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/fleet"
)

// TestPlacementsShareAReaderExactlyWhereTheyReadTheSame puts programs no two of which read the same, each of them twice.
func TestPlacementsShareAReaderExactlyWhereTheyReadTheSame(t *testing.T) {
	by := func(operator metav1.LabelSelectorOperator, values ...string) Predicate {
		selector, faults := fleet.LabelSelector(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "stage", Operator: operator, Values: values},
		}}, nil)
		if len(faults) > 0 {
			t.Fatal(faults.ToAggregate())
		}
		return Predicate{Selector: selector}
	}
	in, notIn := by(metav1.LabelSelectorOpIn, "a", "b"), by(metav1.LabelSelectorOpNotIn, "a", "b")
	a, b := by(metav1.LabelSelectorOpIn, "a"), by(metav1.LabelSelectorOpIn, "b")
	scored := func(resource string) []Prioritizer { return []Prioritizer{{Kind: AddOn, Resource: resource}} }
	over := func(source fleet.Source) []Topology { return []Topology{{Source: source, Key: "stage"}} }
	programs := []*Program{
		nil,
		{},
		{ClusterSets: []string{"one"}},
		{Budget: &Budget{}},
		{Budget: &Budget{Percent: true}},
		{Predicates: []Predicate{in}},
		{Predicates: []Predicate{notIn}},
		{Predicates: []Predicate{a, b}},
		{Predicates: []Predicate{b}},
		{Predicates: []Predicate{{Selector: append(a.Selector[:1:1], b.Selector...)}}},
		{Predicates: []Predicate{by(metav1.LabelSelectorOpExists)}},
		{Predicates: []Predicate{by(metav1.LabelSelectorOpDoesNotExist)}},
		{Tiers: []Tier{{Predicate: a}}},
		{Tiers: []Tier{{Predicate: a}}, Predicates: []Predicate{a}},
		{AntiAffinity: over(fleet.Label)},
		{AntiAffinity: over(fleet.Claim)},
		{Prioritizers: scored("x")},
		{Prioritizers: scored("y")},
		{Prioritizers: []Prioritizer{{Kind: AllocatableCPU}}},
		{Prioritizers: []Prioritizer{{Kind: AllocatableMemory}}},
	}
	x, s := NewIndex(), snapshotWith("one", "two")
	for n, p := range append(programs, programs...) {
		x.Put(s, fleet.Key{Namespace: fmt.Sprintf("ns-%d", n%3), Name: fmt.Sprint(n)}, p)
	}
	if len(x.subscriptions) != len(programs) {
		t.Errorf("%d readers, want %d", len(x.subscriptions), len(programs))
	}
	for _, r := range x.subscriptions {
		if len(r.placements) != 2 {
			t.Errorf("%v read the same, want two", r.placements)
		}
	}
}
