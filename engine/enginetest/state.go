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
func (w *State) Add(object any) *State {
	switch o := object.(type) {
	case *clusterv1.ManagedCluster:
		w.Clusters[o.Name] = o
	case *clusterv1beta2.ManagedClusterSet:
		w.Sets[o.Name] = o
	case *clusterv1alpha1.AddOnPlacementScore:
		w.Scores[ScoreKey{o.Namespace, o.Name}] = o
	case *clusterv1beta1.Placement:
		w.Placements[fleet.Key{Namespace: o.Namespace, Name: o.Name}] = o
	case *clusterv1beta1.PlacementDecision:
		w.Slices[fleet.Key{Namespace: o.Namespace, Name: o.Name}] = o
	case *clusterv1beta2.ManagedClusterSetBinding:
		if o.DeletionTimestamp.IsZero() {
			w.Bind(o.Namespace, o.Name)
		}
	default:
		panic("enginetest: no place for this kind of object")
	}
	return w
}

// Bind binds sets to a namespace.
func (w *State) Bind(namespace string, sets ...string) *State {
	if w.Bindings[namespace] == nil {
		w.Bindings[namespace] = map[string]bool{}
	}
	for _, set := range sets {
		w.Bindings[namespace][set] = true
	}
	return w
}

// At sets the clock.
func (w *State) At(now time.Time) *State {
	w.Now = now
	return w
}

// Copy returns a state that can be changed on its own.
func (w *State) Copy() *State {
	out := *w
	out.Clusters, out.Sets, out.Scores = maps.Clone(w.Clusters), maps.Clone(w.Sets), maps.Clone(w.Scores)
	out.Placements, out.Slices = maps.Clone(w.Placements), maps.Clone(w.Slices)
	out.Bindings = map[string]map[string]bool{}
	for namespace, sets := range w.Bindings {
		out.Bindings[namespace] = maps.Clone(sets)
	}
	return &out
}

// Keys returns the placements, sorted.
func (w *State) Keys() []fleet.Key {
	return slices.SortedFunc(maps.Keys(w.Placements), fleet.Key.Compare)
}

// OwnerOf returns the placement of a slice: the one in its name, otherwise the one in its label. Ok is false if there is
// neither.
func (w *State) OwnerOf(slice *clusterv1beta1.PlacementDecision) (key fleet.Key, ok bool) {
	prefix, _, named := splitName(slice.Name)
	byName := fleet.Key{Namespace: slice.Namespace, Name: prefix}
	if _, exists := w.Placements[byName]; named && exists {
		return byName, true
	}
	if label := slice.Labels[clusterv1beta1.PlacementLabel]; label != "" {
		return fleet.Key{Namespace: slice.Namespace, Name: label}, true
	}
	return byName, named
}

// SlicesOf returns the stored slices of a placement, by name.
func (w *State) SlicesOf(key fleet.Key) []*clusterv1beta1.PlacementDecision {
	var out []*clusterv1beta1.PlacementDecision
	for _, slice := range w.Slices {
		if owner, ok := w.OwnerOf(slice); ok && owner == key {
			out = append(out, slice)
		}
	}
	slices.SortFunc(out, func(a, b *clusterv1beta1.PlacementDecision) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Listed returns the slices with the placement's label, by name.
func (w *State) Listed(key fleet.Key) []*clusterv1beta1.PlacementDecision {
	var out []*clusterv1beta1.PlacementDecision
	for name, slice := range w.Slices {
		if name.Namespace == key.Namespace && slice.Labels["cluster.open-cluster-management.io/placement"] == key.Name {
			out = append(out, slice)
		}
	}
	slices.SortFunc(out, func(a, b *clusterv1beta1.PlacementDecision) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Stored returns the stored objects of a placement.
func (w *State) Stored(key fleet.Key) plan.Stored {
	return plan.Stored{Placement: w.Placements[key], Slices: w.SlicesOf(key)}
}

// Snapshot returns the snapshot of the state.
func (w *State) Snapshot() *fleet.Snapshot {
	e := fleet.Empty().Edit()
	for _, name := range slices.Sorted(maps.Keys(w.Clusters)) {
		e.SetCluster(fleet.NewCluster(w.Clusters[name]))
	}
	for _, set := range w.Sets {
		e.SetSet(fleet.NewSet(set))
	}
	for namespace, sets := range w.Bindings {
		for set := range sets {
			e.Bind(namespace, set)
		}
	}
	for key, score := range w.Scores {
		e.SetScore(key.Cluster, fleet.NewScore(score))
	}
	for key, read := range w.decided() {
		e.SetSlices(key, read)
	}
	out := e.Snapshot().At(w.Now)
	out.Rules = fleet.Rules{ExpressionHold: w.ExpressionHold, HoldUnknownReferences: w.HoldReferences}
	return out
}

// decided returns the decisions of every placement in the engine's form.
func (w *State) decided() map[fleet.Key][]fleet.Slice {
	out := map[fleet.Key][]fleet.Slice{}
	for _, slice := range w.Slices {
		if owner, ok := w.OwnerOf(slice); ok {
			out[owner] = append(out[owner], plan.ReadSlice(slice))
		}
	}
	return out
}

// Apply applies one write of a plan, as an API server does.
func (w *State) Apply(write plan.Write) {
	if write.Placement != nil {
		w.Add(write.Placement)
		return
	}
	name := fleet.Key{Namespace: write.Slice.Namespace, Name: write.Slice.Name}
	stored := w.Slices[name]
	switch {
	case (stored == nil) != (write.Verb == plan.Create):
		panic("enginetest: cannot " + write.Verb.String() + " " + write.Slice.Name)
	case write.Verb == plan.Create:
		w.Slices[name] = write.Slice
	case write.Verb == plan.UpdateDecisions:
		next := stored.DeepCopy()
		next.Status = *write.Slice.Status.DeepCopy()
		w.Slices[name] = next
	case write.Verb == plan.UpdateMetadata:
		next := write.Slice.DeepCopy()
		next.Status = stored.Status
		w.Slices[name] = next
	default:
		delete(w.Slices, name)
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
