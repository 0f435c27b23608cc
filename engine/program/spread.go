package program

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
)

// maxTerms is the most spread constraints, and the most anti-affinity terms, that a placement may have.
const maxTerms = 8

// Topology divides clusters into domains by the value of a label or claim.
type Topology struct {
	Source fleet.Source
	Key    string
}

// String returns the topology as a user would write it, such as "label region".
func (t Topology) String() string { return t.Source.String() + " " + t.Key }

// Domain returns the value that determines the domain of a cluster. Ok is false if the cluster lacks the label or claim.
func (t Topology) Domain(c *fleet.Cluster) (value string, ok bool) {
	return c.Value(t.Source, t.Key)
}

// Constraint is one of spec.spreadPolicy.spreadConstraints.
type Constraint struct {
	Topology
	// MaxSkew is at least 1.
	MaxSkew int
	// Hard is set if no further cluster is selected that exceeds the skew.
	Hard bool
}

// compileSpread compiles every constraint. Constraints without an effect are still checked.
func compileSpread(in []clusterv1beta1.SpreadConstraintsTerm, path *field.Path) ([]Constraint, field.ErrorList) {
	if len(in) > maxTerms {
		return nil, field.ErrorList{field.TooMany(path, len(in), maxTerms)}
	}
	var out []Constraint
	var faults field.ErrorList
	topologies := topologySet{}
	for i, term := range in {
		at := path.Index(i)
		topology, errs := topologies.add(term.TopologyKey, term.TopologyKeyType, at)
		faults = append(faults, errs...)
		if term.MaxSkew < 0 {
			faults = append(faults, field.Invalid(at.Child("maxSkew"), term.MaxSkew, "must be 1 or more"))
		}
		hard := term.WhenUnsatisfiable == clusterv1beta1.DoNotSchedule
		if !hard && term.WhenUnsatisfiable != "" && term.WhenUnsatisfiable != clusterv1beta1.ScheduleAnyway {
			faults = append(faults, field.NotSupported(at.Child("whenUnsatisfiable"), term.WhenUnsatisfiable,
				[]clusterv1beta1.UnsatisfiableMaxSkewAction{clusterv1beta1.DoNotSchedule, clusterv1beta1.ScheduleAnyway}))
		}
		out = append(out, Constraint{Topology: topology, MaxSkew: max(int(term.MaxSkew), 1), Hard: hard})
	}
	return out, faults
}

func compileAntiAffinity(in []clusterv1beta1.AntiAffinityTerm, path *field.Path) ([]Topology, field.ErrorList) {
	if len(in) > maxTerms {
		return nil, field.ErrorList{field.TooMany(path, len(in), maxTerms)}
	}
	var out []Topology
	var faults field.ErrorList
	topologies := topologySet{}
	for i, term := range in {
		topology, errs := topologies.add(term.TopologyKey, term.TopologyKeyType, path.Index(i))
		out, faults = append(out, topology), append(faults, errs...)
	}
	return out, faults
}

// topologySet rejects a second term over the same topology, which could have no effect.
type topologySet map[Topology]bool

func (t topologySet) add(key string, of clusterv1beta1.TopologyKeyType, path *field.Path) (Topology, field.ErrorList) {
	var faults field.ErrorList
	if key == "" {
		faults = append(faults, field.Required(path.Child("topologyKey"), "name the label or claim whose values are the domains"))
	}
	out := Topology{Source: fleet.Label, Key: key}
	switch of {
	case clusterv1beta1.TopologyKeyTypeLabel:
	case clusterv1beta1.TopologyKeyTypeClaim:
		out.Source = fleet.Claim
	default:
		faults = append(faults, field.NotSupported(path.Child("topologyKeyType"), of,
			[]clusterv1beta1.TopologyKeyType{clusterv1beta1.TopologyKeyTypeClaim, clusterv1beta1.TopologyKeyTypeLabel}))
	}
	if len(faults) > 0 {
		return out, faults
	}
	if t[out] {
		faults = append(faults, field.Duplicate(path.Child("topologyKey"), out.String()))
	}
	t[out] = true
	return out, faults
}

// effectiveConstraints returns the constraints that have an effect. A soft constraint has no effect if every cluster is
// selected.
func effectiveConstraints(constraints []Constraint, limited bool) []Constraint {
	if limited {
		return constraints
	}
	return slices.DeleteFunc(constraints, func(c Constraint) bool { return !c.Hard })
}
