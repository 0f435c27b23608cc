package fleet

import (
	"github.com/bits-and-blooms/bitset"
	"k8s.io/apimachinery/pkg/api/equality"
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
	exclusive   *clusterv1beta2.ExclusiveLabelSelector
}

// SelectorInEffect returns the selector that decides the members of a set: what the controller of sets has taken last, by the status. It is
// the selector of the spec while the controller has taken nothing, and where the spec is invalid.
func SelectorInEffect(set *clusterv1beta2.ManagedClusterSet) clusterv1beta2.ManagedClusterSelector {
	taken := set.Status.ClusterSelector
	if taken == nil || !compileSet(set.Name, set.Spec.ClusterSelector).Valid() || !compileSet(set.Name, *taken).Valid() {
		return set.Spec.ClusterSelector
	}
	return *taken
}

// TakeSelector returns the selector that decides the members of a set from now on: that of the spec, unless every member would leave by it
// and no user has confirmed that. Then the selector in effect is kept, and held is true. An invalid selector is not taken. Members counts
// the clusters of a set.
func TakeSelector(
	set *clusterv1beta2.ManagedClusterSet, members func(*Set) int,
) (taken *clusterv1beta2.ManagedClusterSelector, held bool) {
	before, wanted := set.Status.ClusterSelector, SetOfSpec(set)
	switch {
	case !wanted.Valid():
		return before, false
	case before != nil && !equality.Semantic.DeepEqual(*before, set.Spec.ClusterSelector) && !clusterv1beta2.SelectorConfirmed(set) &&
		members(wanted) == 0 && members(compileSet(set.Name, *before)) > 0:
		return before, true
	default:
		return set.Spec.ClusterSelector.DeepCopy(), false
	}
}

// NewSet compiles the selector of a ManagedClusterSet that is in effect. A wrong selector yields a Set with Errors, so that one bad set
// does not hide the others.
func NewSet(object *clusterv1beta2.ManagedClusterSet) *Set {
	return compileSet(object.Name, SelectorInEffect(object))
}

// SetOfSpec compiles the selector of the spec, in effect or not.
func SetOfSpec(object *clusterv1beta2.ManagedClusterSet) *Set {
	return compileSet(object.Name, object.Spec.ClusterSelector)
}

func compileSet(name string, selector clusterv1beta2.ManagedClusterSelector) *Set {
	set := &Set{Name: name}
	path := field.NewPath("spec", "clusterSelector")
	switch selector.SelectorType {
	case "", clusterv1beta2.ExclusiveClusterSetLabel:
		set.selectExclusively(clusterv1beta2.ExclusiveLabelSelector{Key: clusterv1beta2.ClusterSetLabel, Value: name})
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
		set.selectExclusively(*selector.ExclusiveLabel)
	default:
		set.Errors = field.ErrorList{field.NotSupported(path.Child("selectorType"), selector.SelectorType, []clusterv1beta2.SelectorType{
			clusterv1beta2.ExclusiveClusterSetLabel, clusterv1beta2.LabelSelector, clusterv1beta2.ExclusiveLabel,
		})}
	}
	return set
}

func (s *Set) selectExclusively(label clusterv1beta2.ExclusiveLabelSelector) {
	s.exclusive = &label
	s.selector = Selector{newRequirement(Label, label.Key, metav1.LabelSelectorOpIn, []string{label.Value})}
}

// ExclusiveLabel returns the label whose clusters are the members of an exclusive set. Ok is false for sets that share clusters.
func (s *Set) ExclusiveLabel() (label clusterv1beta2.ExclusiveLabelSelector, ok bool) {
	if s.exclusive == nil {
		return clusterv1beta2.ExclusiveLabelSelector{}, false
	}
	return *s.exclusive, true
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

// Count returns the number of members.
func (s *Set) Count(snapshot *Snapshot) int {
	in := bitset.New(snapshot.IDLimit())
	s.AddMembers(snapshot, in)
	return int(in.Count())
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
