package model

import (
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/verdict"
)

// Stage is a step of a decision: the clusters that come to it, those that it rejects, and those that pass.
type Stage struct {
	// ID names the stage in URLs.
	ID    string
	Title string
	// In is the number of clusters that come to the stage, Out the number that pass it.
	In, Out int
	// Rejected counts the rejected clusters by verdict, in the order of the codes.
	Rejected []VerdictCount
}

// VerdictCount is the number of clusters with a verdict.
type VerdictCount struct {
	Verdict string
	Count   int
}

// stage is the verdicts that a step of the decision gives.
type stage struct {
	id, title string
	codes     []verdict.Code
}

// stages are the steps of a decision in order. A cluster is rejected by the first that does not let it pass.
func stages() []stage {
	return []stage{
		{"sets", "Sets", []verdict.Code{verdict.OutsideSets, verdict.Withdrawing, verdict.Terminating}},
		{"predicates", "Predicates", []verdict.Code{verdict.Mismatch, verdict.TooCostly}},
		{"tiers", "Tiers", []verdict.Code{verdict.OutsideTiers}},
		{"taints", "Taints", []verdict.Code{verdict.Tainted, verdict.Expired}},
		{"scores", "Scores", []verdict.Code{verdict.Outranked, verdict.Waiting}},
		{"constraints", "Constraints", []verdict.Code{verdict.ConstraintBlocked}},
		{"undecided", "Decision", []verdict.Code{verdict.Undecided}},
	}
}

// Funnel returns the steps from all clusters of an explanation to the selected ones. Tiers, constraints and a decision that was not made
// appear where they reject a cluster.
func Funnel(of *explain.Explanation) []Stage {
	counts := map[string]int{}
	for i := range of.Clusters {
		counts[of.Clusters[i].Verdict]++
	}
	var out []Stage
	left := len(of.Clusters)
	for _, step := range stages() {
		s := Stage{ID: step.id, Title: step.title, In: left}
		for _, code := range step.codes {
			if count := counts[code.String()]; count > 0 {
				s.Rejected = append(s.Rejected, VerdictCount{code.String(), count})
				left -= count
			}
		}
		s.Out = left
		optional := step.id == "tiers" || step.id == "constraints" || step.id == "undecided"
		if !optional || s.Out < s.In {
			out = append(out, s)
		}
	}
	return out
}

// RejectedBy returns the clusters that a stage rejected, by name. Ok is false for an unknown stage.
func RejectedBy(of *explain.Explanation, id string) (clusters []*explain.Cluster, ok bool) {
	for _, step := range stages() {
		if step.id != id {
			continue
		}
		verdicts := map[string]bool{}
		for _, code := range step.codes {
			verdicts[code.String()] = true
		}
		for i := range of.Clusters {
			if verdicts[of.Clusters[i].Verdict] {
				clusters = append(clusters, &of.Clusters[i])
			}
		}
		return clusters, true
	}
	return nil, false
}
