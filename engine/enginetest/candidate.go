package enginetest

import (
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
)

// CandidateState is how a candidate stands before anybody is picked.
type CandidateState struct {
	Tier      int
	Penalized bool
	Total     int
	// Eligible is set where it has every label and claim that it must have to be chosen.
	Eligible bool
	// RetainedOnly is set where it is a candidate only since it is selected.
	RetainedOnly bool
}

// Candidates returns the candidates of a placement that the oracle finds.
func (o *Oracle) Candidates(w *World, key fleet.Key) map[string]CandidateState {
	r := o.run(w, key)
	v := r.view(r.incumbents)
	out := map[string]CandidateState{}
	for name := range v.in {
		out[name] = CandidateState{
			Tier: v.tier[name], Penalized: v.penalized(name), Total: v.total[name], Eligible: v.eligible(name),
			RetainedOnly: v.retainedOnly[name] || v.selected[name] && v.rejectedIfNew(name),
		}
	}
	return out
}

// Domain returns the value of a label or claim that puts a cluster in its domain.
func Domain(c *clusterv1.ManagedCluster, kind clusterv1beta1.TopologyKeyType, key string) (value string, has bool) {
	return topology{claim: kind == clusterv1beta1.TopologyKeyTypeClaim, key: key}.value(c)
}
