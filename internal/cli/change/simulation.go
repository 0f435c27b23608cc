package change

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/wake"
	"github.com/berth-project/berth/internal/cli/offline"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/source/file"
)

// maxRounds is how often changed placements are decided again. The second round rarely changes a decision, because a
// decision confirms itself.
const maxRounds = 10

// storedPlacement is a placement with its stored decisions. It is read-only.
type storedPlacement struct {
	placement *clusterv1beta1.Placement
	slices    []*clusterv1beta1.PlacementDecision
	// program is nil when the placement does not compile; faults are the reasons.
	program *program.Program
	faults  field.ErrorList
}

// Simulation is a fleet and its placements on their way to where nothing moves.
type Simulation struct {
	snapshot   *fleet.Snapshot
	placements map[fleet.Key]*storedPlacement
	// Order is the order of decisions: a placement reads the decisions of those before it.
	Order []fleet.Key
	// wanted are the sets whose selector is held, by the selector that they would have.
	wanted map[string]*fleet.Set
	// emptied are the placements whose last edit leaves no cluster, by what a hub reports that holds such edits.
	emptied map[fleet.Key]string
	// brakes is nil without a brake. kept are the clusters that brakes keep, each with the reason, and reach the sets that were chosen from,
	// by placement.
	brakes *offline.Brakes
	kept   map[fleet.Key]map[string]string
	reach  map[fleet.Key][]*fleet.Set
	// index returns the placements that a change can affect.
	index    *wake.Index
	progress *printer.Progress
}

// NewSimulation returns the fleet and the placements of a bundle, with no placement decided yet.
func NewSimulation(bundle *file.Bundle, now time.Time, progress *printer.Progress) *Simulation {
	out := &Simulation{
		snapshot: bundle.Snapshot(now), placements: map[fleet.Key]*storedPlacement{}, index: wake.NewIndex(),
		wanted: map[string]*fleet.Set{}, kept: map[fleet.Key]map[string]string{}, reach: map[fleet.Key][]*fleet.Set{},
		emptied: map[fleet.Key]string{}, progress: progress,
	}
	for _, set := range bundle.Sets {
		if meta.IsStatusConditionTrue(set.Status.Conditions, clusterv1beta2.ManagedClusterSetConditionSelectorHeld) {
			out.wanted[set.Name] = fleet.SetOfSpec(set)
		}
	}
	for _, placement := range bundle.Placements {
		key := file.KeyOf(placement)
		out.placements[key] = &storedPlacement{placement, bundle.Decisions[key], bundle.Programs[key], bundle.Faults[key]}
		out.index.Put(out.snapshot, key, bundle.Programs[key])
	}
	out.reorder()
	return out
}

func (s *Simulation) reorder() {
	s.Order = slices.SortedFunc(maps.Keys(s.placements), fleet.Key.Compare)
}

// Clone returns a copy without a brake that shares the index, so the original must not change afterwards.
func (s *Simulation) Clone() *Simulation {
	out := *s
	out.placements, out.wanted, out.emptied = maps.Clone(s.placements), maps.Clone(s.wanted), maps.Clone(s.emptied)
	out.brakes, out.kept, out.reach = nil, maps.Clone(s.kept), maps.Clone(s.reach)
	return &out
}

// Fork returns a copy without a brake that shares nothing that changes, so that several changes can be tried on the original.
func (s *Simulation) Fork() *Simulation {
	out := s.Clone()
	out.index = wake.NewIndex()
	for key, at := range out.placements {
		out.index.Put(out.snapshot, key, at.program)
	}
	return out
}

// held describes the edits of sets that are held here and not in another course, and those of placements that a hub may hold.
func (s *Simulation) held(other *Simulation) []string {
	var out []string
	for _, key := range slices.SortedFunc(maps.Keys(s.emptied), fleet.Key.Compare) {
		if other.emptied[key] == "" {
			out = append(out, fmt.Sprintf("on a hub with --emptying-edits=hold, the default of berth-hub, the edit of the placement %s/%s: %s",
				key.Namespace, key.Name, s.emptied[key]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.wanted)) {
		if set, known := s.snapshot.Set(name); known && other.wanted[name] == nil {
			out = append(out, fmt.Sprintf("the set %s keeps its %s, since its new selector would take every one away", name,
				phrase.Count(set.Count(s.snapshot), "member")))
		}
	}
	return out
}

// evaluate decides a placement without storing the result; nil when the manager does not decide the placement.
func (s *Simulation) evaluate(key fleet.Key) *engine.Result {
	at := s.placements[key]
	if at == nil || offline.SkipReason(at.placement) != "" {
		return nil
	}
	past := plan.ReadLedger(at.placement)
	past.Braked = s.kept[key]
	return engine.Decide(s.snapshot, key, at.program, at.faults, past)
}

// noteEmptyingEdit records whether a hub may hold the edit of a placement, which is decided for the first time since. BrakedBefore are the
// clusters that a brake has kept in the last decision.
func (s *Simulation) noteEmptyingEdit(key fleet.Key, decided *engine.Result, brakedBefore map[string]string) {
	at := s.placements[key]
	if !decided.Decided || decided.Selected > 0 || len(at.slices) == 0 {
		return
	}
	strict, past := s.snapshot.At(s.snapshot.Now), plan.ReadLedger(at.placement)
	strict.Rules.HoldEmptyingEdits, past.BrakedBefore = true, brakedBefore
	if held := engine.Decide(strict, key, at.program, at.faults, past).EditHeld; held.Type != "" {
		s.emptied[key] = held.Message
	}
}

// Stabilize decides placements in order, then again those whose decisions changed, until no decision changes. It decides no
// other placement, because the manager does not either.
func (s *Simulation) Stabilize(keys []fleet.Key) {
	for range maxRounds {
		var moved []fleet.Key
		for i, key := range keys {
			if i%16 == 0 {
				s.progress.Update(fmt.Sprintf("and deciding %s", phrase.Count(len(keys), "placement")), i)
			}
			if s.decide(key) {
				moved = append(moved, key)
			}
		}
		if keys = moved; len(keys) == 0 {
			return
		}
	}
}

// decide decides and stores a placement. It reports whether a decision changed.
func (s *Simulation) decide(key fleet.Key) (moved bool) {
	result := s.judge(key)
	if result == nil {
		return false
	}
	at := s.placements[key]
	made := offline.Decision{Key: key, Placement: at.placement, Slices: at.slices, Result: result}
	made.Store(s.snapshot.Now)
	s.placements[key] = &storedPlacement{made.Placement, made.Slices, at.program, at.faults}
	if len(made.Plan.Writes) == 0 {
		return false
	}
	edit := s.snapshot.Edit()
	edit.SetSlices(key, result.Slices())
	s.snapshot = edit.Snapshot()
	return true
}
