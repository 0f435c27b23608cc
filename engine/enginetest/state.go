package enginetest

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// Epoch is the time of new states.
var Epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant that Go cannot spell

// strategyAnnotation is a copy of the engine's constant. A change of the constant would rebuild the groups of every upgraded
// hub, so it fails the tests.
const strategyAnnotation = "berth-project.io/decision-strategy-hash"

// deprecatedStrategyAnnotation is the key of older releases. It is read first, and removed with each write.
const deprecatedStrategyAnnotation = "cluster.open-cluster-management.io/decision-strategy-hash"

// ScoreKey names an AddOnPlacementScore.
type ScoreKey struct{ Cluster, Resource string }

// State has the plain API objects of a hub at one instant. Objects are replaced, never changed, so a shallow copy of a state is
// a copy.
type State struct {
	Now        time.Time
	Clusters   map[string]*clusterv1.ManagedCluster
	Sets       map[string]*clusterv1beta2.ManagedClusterSet
	Bindings   map[string]map[string]bool
	Scores     map[ScoreKey]*clusterv1alpha1.AddOnPlacementScore
	Placements map[fleet.Key]*clusterv1beta1.Placement
	// Slices has all PlacementDecisions by namespace and name.
	Slices map[fleet.Key]*clusterv1beta1.PlacementDecision
	// ExpressionHold is how long a selected cluster stays on which an expression fails because a claim or score is missing, Failing since when
	// it does, by placement and cluster.
	ExpressionHold time.Duration
	// HoldReferences holds an edit by which clusters would leave because it names what no cluster in reach has.
	HoldReferences bool
	Failing        map[fleet.Key]map[string]time.Time
	// Braked has the clusters that a brake keeps, each with the reason, by placement.
	Braked map[fleet.Key]map[string]string
}

// NewState returns a state with the given objects in it, at Epoch.
func NewState(objects ...any) *State {
	w := &State{
		Now: Epoch, Clusters: map[string]*clusterv1.ManagedCluster{}, Sets: map[string]*clusterv1beta2.ManagedClusterSet{},
		Bindings: map[string]map[string]bool{}, Scores: map[ScoreKey]*clusterv1alpha1.AddOnPlacementScore{},
		Placements: map[fleet.Key]*clusterv1beta1.Placement{}, Slices: map[fleet.Key]*clusterv1beta1.PlacementDecision{},
	}
	for _, object := range objects {
		w.Add(object)
	}
	return w
}

// StateOf returns a state with all these objects in it, at Epoch.
func StateOf[T any](objects iter.Seq[T]) *State {
	w := NewState()
	for object := range objects {
		w.Add(object)
	}
	return w
}

// Add adds or replaces an object.
func (s *State) Add(object any) *State {
	switch o := object.(type) {
	case *clusterv1.ManagedCluster:
		s.Clusters[o.Name] = o
	case *clusterv1beta2.ManagedClusterSet:
		s.Sets[o.Name] = o
	case *clusterv1alpha1.AddOnPlacementScore:
		s.Scores[ScoreKey{o.Namespace, o.Name}] = o
	case *clusterv1beta1.Placement:
		s.Placements[fleet.Key{Namespace: o.Namespace, Name: o.Name}] = o
	case *clusterv1beta1.PlacementDecision:
		s.Slices[fleet.Key{Namespace: o.Namespace, Name: o.Name}] = o
	case *clusterv1beta2.ManagedClusterSetBinding:
		if o.DeletionTimestamp.IsZero() {
			s.Bind(o.Namespace, o.Name)
		}
	default:
		panic("enginetest: no place for this kind of object")
	}
	return s
}

// Bind binds sets to a namespace.
func (s *State) Bind(namespace string, sets ...string) *State {
	if s.Bindings[namespace] == nil {
		s.Bindings[namespace] = map[string]bool{}
	}
	for _, set := range sets {
		s.Bindings[namespace][set] = true
	}
	return s
}

// At sets the clock.
func (s *State) At(now time.Time) *State {
	s.Now = now
	return s
}

// Copy returns a state that can be changed on its own.
func (s *State) Copy() *State {
	out := *s
	out.Clusters, out.Sets, out.Scores = maps.Clone(s.Clusters), maps.Clone(s.Sets), maps.Clone(s.Scores)
	out.Placements, out.Slices = maps.Clone(s.Placements), maps.Clone(s.Slices)
	out.Bindings = map[string]map[string]bool{}
	for namespace, sets := range s.Bindings {
		out.Bindings[namespace] = maps.Clone(sets)
	}
	return &out
}

// Keys returns the placements, sorted.
func (s *State) Keys() []fleet.Key {
	return slices.SortedFunc(maps.Keys(s.Placements), fleet.Key.Compare)
}

// OwnerOf returns the placement of a slice: the one in its name, otherwise the one in its label. Ok is false if there is
// neither.
func (s *State) OwnerOf(slice *clusterv1beta1.PlacementDecision) (key fleet.Key, ok bool) {
	prefix, _, named := splitName(slice.Name)
	byName := fleet.Key{Namespace: slice.Namespace, Name: prefix}
	if _, exists := s.Placements[byName]; named && exists {
		return byName, true
	}
	if label := slice.Labels[clusterv1beta1.PlacementLabel]; label != "" {
		return fleet.Key{Namespace: slice.Namespace, Name: label}, true
	}
	return byName, named
}

// SlicesOf returns the stored slices of a placement, by name.
func (s *State) SlicesOf(key fleet.Key) []*clusterv1beta1.PlacementDecision {
	var out []*clusterv1beta1.PlacementDecision
	for _, slice := range s.Slices {
		if owner, ok := s.OwnerOf(slice); ok && owner == key {
			out = append(out, slice)
		}
	}
	slices.SortFunc(out, func(a, b *clusterv1beta1.PlacementDecision) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Listed returns the slices with the placement's label, by name.
func (s *State) Listed(key fleet.Key) []*clusterv1beta1.PlacementDecision {
	var out []*clusterv1beta1.PlacementDecision
	for name, slice := range s.Slices {
		if name.Namespace == key.Namespace && slice.Labels["cluster.open-cluster-management.io/placement"] == key.Name {
			out = append(out, slice)
		}
	}
	slices.SortFunc(out, func(a, b *clusterv1beta1.PlacementDecision) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Stored returns the stored objects of a placement.
func (s *State) Stored(key fleet.Key) plan.Stored {
	return plan.Stored{Placement: s.Placements[key], Slices: s.SlicesOf(key)}
}

// Snapshot returns the snapshot of the state.
func (s *State) Snapshot() *fleet.Snapshot {
	e := fleet.Empty().Edit()
	for _, name := range slices.Sorted(maps.Keys(s.Clusters)) {
		e.SetCluster(fleet.NewCluster(s.Clusters[name]))
	}
	for _, set := range s.Sets {
		e.SetSet(fleet.NewSet(set))
	}
	for namespace, sets := range s.Bindings {
		for set := range sets {
			e.Bind(namespace, set)
		}
	}
	for key, score := range s.Scores {
		e.SetScore(key.Cluster, fleet.NewScore(score))
	}
	for key, read := range s.decided() {
		e.SetSlices(key, read)
	}
	out := e.Snapshot().At(s.Now)
	out.Rules = fleet.Rules{ExpressionHold: s.ExpressionHold, HoldUnknownReferences: s.HoldReferences}
	return out
}

// decided returns the decisions of every placement in the engine's form.
func (s *State) decided() map[fleet.Key][]fleet.Slice {
	out := map[fleet.Key][]fleet.Slice{}
	for _, slice := range s.Slices {
		if owner, ok := s.OwnerOf(slice); ok {
			out[owner] = append(out[owner], plan.ReadSlice(slice))
		}
	}
	return out
}

// Apply applies one write of a plan, as an API server does.
func (s *State) Apply(write plan.Write) {
	if write.Placement != nil {
		s.Add(write.Placement)
		return
	}
	name := fleet.Key{Namespace: write.Slice.Namespace, Name: write.Slice.Name}
	stored := s.Slices[name]
	switch {
	case (stored == nil) != (write.Verb == plan.Create):
		panic("enginetest: cannot " + write.Verb.String() + " " + write.Slice.Name)
	case write.Verb == plan.Create:
		s.Slices[name] = write.Slice
	case write.Verb == plan.UpdateDecisions:
		next := stored.DeepCopy()
		next.Status = *write.Slice.Status.DeepCopy()
		s.Slices[name] = next
	case write.Verb == plan.UpdateMetadata:
		next := write.Slice.DeepCopy()
		next.Status = stored.Status
		s.Slices[name] = next
	default:
		delete(s.Slices, name)
	}
}

// splitName splits the name of a slice.
func splitName(name string) (placement string, number int, ok bool) {
	at := strings.LastIndex(name, "-decision-")
	if at < 1 {
		return "", 0, false
	}
	digits := name[at+len("-decision-"):]
	if digits == "" || len(digits) > 6 || digits[0] == '0' || strings.Trim(digits, "0123456789") != "" {
		return "", 0, false
	}
	for _, digit := range digits {
		number = number*10 + int(digit-'0')
	}
	return name[:at], number, true
}
