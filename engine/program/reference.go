package program

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/fleet"
)

// Reference is a set, key, name or score that a program needs: without it, clusters cannot be selected by that part of the spec.
type Reference struct {
	// Set is a name in spec.clusterSets; empty for the others.
	Set string
	// Source and Key are a label or claim. With the source Name, Names are the names of clusters: one must exist.
	Source fleet.Source
	Key    string
	Names  []string
	// Resource and Score are an add-on score.
	Resource, Score string
	// Plugin is the part of the placement to blame.
	Plugin string
}

// The parts of a placement that have references.
const (
	referenceSets       = "ClusterSets"
	referencePredicates = "Predicate"
	referenceTiers      = "Tiers"
	referenceSpread     = "Spread"
	referenceScores     = "Prioritizer"
)

// References returns what the program needs, in the order of the spec. NotIn, DoesNotExist, tolerations, groups, soft constraints and
// expressions need nothing.
func (p *Program) References() []Reference {
	var out []Reference
	for _, name := range p.ClusterSets {
		out = append(out, Reference{Set: name, Plugin: referenceSets})
	}
	for _, predicate := range p.Predicates {
		out = append(out, selectorReferences(predicate.Selector, referencePredicates)...)
	}
	for _, tier := range p.Tiers {
		out = append(out, selectorReferences(tier.Selector, referenceTiers)...)
	}
	for topology := range p.hardTopologies() {
		out = append(out, Reference{Source: topology.Source, Key: topology.Key, Plugin: referenceSpread})
	}
	for _, by := range p.Prioritizers {
		if by.Kind == AddOn {
			out = append(out, Reference{Resource: by.Resource, Score: by.Score, Plugin: referenceScores})
		}
	}
	return out
}

// hardTopologies yields the topologies whose key a cluster must have.
func (p *Program) hardTopologies() func(yield func(Topology) bool) {
	return func(yield func(Topology) bool) {
		for _, constraint := range p.Spread {
			if constraint.Hard && !yield(constraint.Topology) {
				return
			}
		}
		for _, topology := range p.AntiAffinity {
			if !yield(topology) {
				return
			}
		}
	}
}

// selectorReferences returns what a selector needs.
func selectorReferences(selector fleet.Selector, plugin string) []Reference {
	var out []Reference
	for _, requirement := range selector {
		if positive(requirement) {
			out = append(out, referenceOf(requirement, plugin))
		}
	}
	return out
}

func positive(requirement fleet.Requirement) bool {
	return requirement.Operator == metav1.LabelSelectorOpIn || requirement.Operator == metav1.LabelSelectorOpExists
}

func referenceOf(requirement fleet.Requirement, plugin string) Reference {
	out := Reference{Source: requirement.Source, Key: requirement.Key, Plugin: plugin}
	if requirement.Source == fleet.Name {
		out.Names = requirement.Values
	}
	return out
}

// Text returns what the reference lacks, after the part of the placement to blame.
func (r *Reference) Text() string {
	switch {
	case r.Set != "":
		return fmt.Sprintf("%s:no ManagedClusterSet %q is bound to the namespace", r.Plugin, r.Set)
	case r.Source == fleet.Name:
		return fmt.Sprintf("%s:no cluster in reach has one of the %d names, such as %q", r.Plugin, len(r.Names), r.Names[0])
	case r.Resource != "":
		return fmt.Sprintf("%s:no cluster in reach has the score %q in an AddOnPlacementScore %q", r.Plugin, r.Score, r.Resource)
	default:
		return fmt.Sprintf("%s:no cluster in reach has the %s %q", r.Plugin, r.Source, r.Key)
	}
}

// Identity returns a text that only equal references have.
func (r *Reference) Identity() string { return r.Text() + "\n" + strings.Join(r.Names, "\n") }

// steadyWeight outweighs every prioritizer that a placement may have.
const steadyWeight = 1_000_000

// Without returns the program without some references. Without the name of a set, every bound set may be meant. Without an add-on score,
// what is selected goes first: nothing else is known of the ranking that was meant.
func (p *Program) Without(unknown []Reference) *Program {
	lacked := make(map[string]bool, len(unknown))
	for _, of := range unknown {
		lacked[of.Identity()] = true
	}
	lacks := func(of Reference) bool { return lacked[of.Identity()] }
	out := &Program{
		Key: p.Key, Tolerations: p.Tolerations, Wanted: p.Wanted, Limited: p.Limited, Groups: p.Groups, Stabilization: p.Stabilization,
		SpreadWeight: p.SpreadWeight, Budget: p.Budget, ByScore: p.ByScore, ScoreEvery: p.ScoreEvery,
	}
	if !slices.ContainsFunc(p.ClusterSets, func(name string) bool { return lacks(Reference{Set: name, Plugin: referenceSets}) }) {
		out.ClusterSets = p.ClusterSets
	}
	for _, predicate := range p.Predicates {
		out.Predicates = append(out.Predicates, predicate.without(lacks, referencePredicates))
	}
	for _, tier := range p.Tiers {
		out.Tiers = append(out.Tiers, Tier{tier.Name, tier.without(lacks, referenceTiers)})
	}
	known := func(of Topology) bool {
		return !lacks(Reference{Source: of.Source, Key: of.Key, Plugin: referenceSpread})
	}
	for _, constraint := range p.Spread {
		if !constraint.Hard || known(constraint.Topology) {
			out.Spread = append(out.Spread, constraint)
		}
	}
	for _, topology := range p.AntiAffinity {
		if known(topology) {
			out.AntiAffinity = append(out.AntiAffinity, topology)
		}
	}
	for _, by := range p.Prioritizers {
		if by.Kind == AddOn && lacks(Reference{Resource: by.Resource, Score: by.Score, Plugin: referenceScores}) {
			by = Prioritizer{Kind: Steady, Weight: steadyWeight}
		}
		out.Prioritizers = append(out.Prioritizers, by)
	}
	return out
}

// without returns the predicate without some references.
func (p Predicate) without(lacks func(Reference) bool, plugin string) Predicate {
	out := Predicate{Expressions: p.Expressions}
	for _, requirement := range p.Selector {
		if !positive(requirement) || !lacks(referenceOf(requirement, plugin)) {
			out.Selector = append(out.Selector, requirement)
		}
	}
	return out
}
