package enginetest

import (
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
)

// CandidateState is the state of a candidate before any cluster is picked.
type CandidateState struct {
	Tier      int
	Penalized bool
	Total     int
	// Eligible is set if it has every required label and claim.
	Eligible bool
	// RetainedOnly is set if it is a candidate only as an incumbent.
	RetainedOnly bool
}

// Candidates returns the candidates of a placement.
func (o *Oracle) Candidates(w *State, key fleet.Key) map[string]CandidateState {
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
