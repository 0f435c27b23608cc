package enginetest

import (
	"slices"
	"strconv"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// topology is a term of anti-affinity or a spread constraint.
type topology struct {
	// text is the name of the term in messages.
	text  string
	claim bool
	key   string
	// skew and hard are those of a spread constraint.
	skew int
	hard bool
}

func newTopology(what string, kind clusterv1beta1.TopologyKeyType, key string) topology {
	source := "label"
	if kind == "Claim" {
		source = "claim"
	}
	return topology{text: what + " over " + source + " " + key, claim: kind == "Claim", key: key}
}

// terms reads the anti-affinity terms and the effective spread constraints: soft ones need a number of clusters.
func (r *run) terms() {
	for _, term := range r.spec.SpreadPolicy.AntiAffinity {
		r.antiAffinity = append(r.antiAffinity, newTopology("anti-affinity", term.TopologyKeyType, term.TopologyKey))
	}
	for _, constraint := range r.spec.SpreadPolicy.SpreadConstraints {
		t := newTopology("spread", constraint.TopologyKeyType, constraint.TopologyKey)
		t.skew, t.hard = max(1, int(constraint.MaxSkew)), constraint.WhenUnsatisfiable == "DoNotSchedule"
		if t.hard || r.spec.NumberOfClusters != nil {
			r.spread = append(r.spread, t)
		}
	}
	r.paths = map[string][]string{}
	for name := range r.w.Clusters {
		r.paths[name] = r.path(name)
	}
}

// value returns the domain of a cluster.
func (t topology) value(cluster *clusterv1.ManagedCluster) (value string, has bool) {
	if !t.claim {
		value, has = cluster.Labels[t.key]
		return value, has
	}
	for _, claim := range cluster.Status.ClusterClaims {
		if claim.Name == t.key {
			value, has = claim.Value, true // of a repeated name the last counts
		}
	}
	return value, has
}

// lacks returns the first term whose required label or claim a cluster lacks.
func (r *run) lacks(name string) (term topology, lacks bool) {
	for _, t := range slices.Concat(r.antiAffinity, r.spread) {
		if _, has := t.value(r.w.Clusters[name]); !has && (t.hard || t.skew == 0) {
			return t, true
		}
	}
	return topology{}, false
}

// eligible reports whether a cluster is a candidate with every required label and claim.
func (v *view) eligible(name string) bool {
	_, lacks := v.lacks(name)
	return v.in[name] && !lacks
}

// root is the domain of all clusters.
const root = "/"

// path returns the domains of a cluster from the root down, one for each constraint.
func (r *run) path(name string) []string {
	out := []string{root}
	for _, constraint := range r.spread {
		step := "lacks"
		if value, has := constraint.value(r.w.Clusters[name]); has {
			step = strconv.Quote(value)
		}
		out = append(out, out[len(out)-1]+step+"/")
	}
	return out
}
