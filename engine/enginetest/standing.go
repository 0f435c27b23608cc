package enginetest

import (
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
)

// Standing is how a candidate stands before anybody is picked.
type Standing struct {
	Tier    int
	Demoted bool
	Total   int
	// Eligible is set where it has every label and claim that it must have to be chosen.
	Eligible bool
	// Guest is set where it is a candidate only since it is selected.
	Guest bool
}

// Standings returns the candidates of a placement that the oracle finds.
func (o *Oracle) Standings(w *World, key fleet.Key) map[string]Standing {
	r := o.run(w, key)
	v := r.look(r.incumbents)
	out := map[string]Standing{}
	for name := range v.in {
		out[name] = Standing{
			Tier: v.tier[name], Demoted: v.demoted(name), Total: v.total[name], Eligible: v.eligible(name),
			Guest: v.guests[name] || v.seats[name] && v.refusedIfNew(name),
		}
	}
	return out
}

// Domain returns the value of a label or claim that puts a cluster in its domain.
func Domain(c *clusterv1.ManagedCluster, kind clusterv1beta1.TopologyKeyType, key string) (value string, has bool) {
	return topology{claim: kind == clusterv1beta1.TopologyKeyTypeClaim, key: key}.value(c)
}
