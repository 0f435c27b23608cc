package fleet

import (
	"github.com/bits-and-blooms/bitset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// Set is a ManagedClusterSet as the engine reads it: the rule that selects its members.
type Set struct {
	Name string
	// Errors are the reasons why the members are unknown; empty for a valid set.
	Errors field.ErrorList

	selector    Selector
	matchesNone bool
}

// ExclusiveLabel returns the label whose clusters are the members of an exclusive set. Ok is false for sets that share
// clusters.
func ExclusiveLabel(set *clusterv1beta2.ManagedClusterSet) (label clusterv1beta2.ExclusiveLabelSelector, ok bool) {
	switch selector := set.Spec.ClusterSelector; {
	case selector.SelectorType == "" || selector.SelectorType == clusterv1beta2.ExclusiveClusterSetLabel:
		return clusterv1beta2.ExclusiveLabelSelector{Key: clusterv1beta2.ClusterSetLabel, Value: set.Name}, true
	case selector.SelectorType == clusterv1beta2.ExclusiveLabel && selector.ExclusiveLabel != nil:
		return *selector.ExclusiveLabel, true
	default:
		return clusterv1beta2.ExclusiveLabelSelector{}, false
	}
}

// NewSet compiles the selector of a ManagedClusterSet. A wrong selector yields a Set with Errors, so that one bad set
// does not hide the others.
func NewSet(object *clusterv1beta2.ManagedClusterSet) *Set {
	set := &Set{Name: object.Name}
	selector := object.Spec.ClusterSelector
	path := field.NewPath("spec", "clusterSelector")
	switch selector.SelectorType {
	case "", clusterv1beta2.ExclusiveClusterSetLabel:
		set.selector = Selector{newRequirement(Label, clusterv1beta2.ClusterSetLabel, metav1.LabelSelectorOpIn, []string{object.Name})}
	case clusterv1beta2.LabelSelector:
		if selector.LabelSelector == nil {
			set.matchesNone = true
			break
		}
		set.selector, set.Errors = LabelSelector(*selector.LabelSelector, path.Child("labelSelector"))
	case clusterv1beta2.ExclusiveLabel:
		if selector.ExclusiveLabel == nil {
			set.Errors = field.ErrorList{field.Required(path.Child("exclusiveLabel"), "give the key and value that make a member")}
			break
		}
		label := *selector.ExclusiveLabel
		set.selector = Selector{newRequirement(Label, label.Key, metav1.LabelSelectorOpIn, []string{label.Value})}
	default:
		set.Errors = field.ErrorList{field.NotSupported(path.Child("selectorType"), selector.SelectorType, []clusterv1beta2.SelectorType{
			clusterv1beta2.ExclusiveClusterSetLabel, clusterv1beta2.LabelSelector, clusterv1beta2.ExclusiveLabel,
		})}
	}
	return set
}

// Valid reports whether the members are known.
func (s *Set) Valid() bool { return len(s.Errors) == 0 }

// Has reports whether a cluster is a member. An invalid set has no members.
func (s *Set) Has(c *Cluster) bool {
	return s.Valid() && !s.matchesNone && s.selector.Matches(c)
}

// AddMembers adds to in every member of the set.
func (s *Set) AddMembers(snapshot *Snapshot, in *bitset.BitSet) {
	if !s.Valid() || s.matchesNone {
		return
	}
	if len(s.selector) == 1 && s.selector[0].Operator == metav1.LabelSelectorOpIn {
		s.selector[0].clustersWithValue(snapshot).AddTo(in)
		return
	}
	members := snapshot.ClustersWith(TermExists).BitSet()
	s.selector.Filter(snapshot, members)
	in.InPlaceUnion(members)
}

// Selector returns the selector of the members. Ok is false if the set is invalid or cannot have members.
func (s *Set) Selector() (selector Selector, ok bool) { return s.selector, s.Valid() && !s.matchesNone }

// DependsOn returns the terms whose change on a cluster can change its membership. For an invalid set, it returns the
// terms whose change can change whether the cluster may be a member.
func (s *Set) DependsOn() []Term {
	switch {
	case !s.Valid():
		return []Term{TermExists}
	case s.matchesNone:
		return nil
	default:
		return s.selector.DependsOn()
	}
}
