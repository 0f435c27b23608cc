package live

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/program"
)

// Input is everything that the decision of one placement needs. It is read-only.
type Input struct {
	Snapshot *fleet.Snapshot
	// Changes is the number of changes so far. The difference of two inputs bounds how much their snapshots differ.
	Changes uint64
	// Program is nil if the placement does not compile; Faults are the reasons.
	Program *program.Program
	Faults  field.ErrorList
	Stored  plan.Stored
	// Failing has the clusters on which an expression failed in the last decision because a claim or score is missing, each with the instant
	// at which that began.
	Failing map[string]time.Time
	// Braked has the clusters that a brake kept in the last decision, each with the reason, and Reach the sets that it chose from; nil before
	// the first decision of this process, and while a set is missing that may have had what the grace after the start keeps.
	Braked map[string]string
	Reach  []*fleet.Set
	// Anew is set if the placement has the decisions of a deleted one with the same name and spec.
	Anew bool
	// Waits is set while a definition, or what went with it, is missing: nothing is decided and no grace ends then.
	Waits bool
}

// Ledger returns the ledger of the last decision.
func (i Input) Ledger() ledger.Ledger {
	out := plan.ReadLedger(i.Stored.Placement)
	out.Failing, out.Braked = i.Failing, i.Braked
	return out
}

// Gather begins an attempt and returns the input of a placement as of now. Ok is false if the placement does not exist, is being deleted,
// or is disabled by its annotation. The caller must call Finish before the placement is gathered again.
func (s *Stored) Gather(key fleet.Key, now time.Time) (c Input, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, known := s.compile(key)
	if !known || !p.managed() {
		return Input{}, false
	}
	if !p.initialized {
		s.initialize(key, p)
	}
	p.inProgress = true
	return s.input(key, p, now), true
}

// Decided records what only this process has of a decision: the clusters that the first one after the start has kept although they do not
// qualify (what a cluster loses later is known then), since when an expression fails on clusters, which sets it chose from, and which
// clusters a brake keeps.
func (s *Stored) Decided(key fleet.Key, result *engine.Result, braked map[string]string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, known := s.placements[key]
	if !known {
		return
	}
	if !p.decided && result.Decided {
		p.decided, p.retained = true, append([]string{}, result.Retained...) // not nil, which is all clusters
		p.reached = reached(result.Trace.Snapshot, key.Namespace, p.program, p.retained)
	}
	s.fleet.await(key, result.Unknown)
	s.fleet.keep(key, result, braked)
	s.fleet.bar(key, result)
	p.braked = braked
	if result.Decided {
		p.reach = reachOf(result)
	}
	if result.Decided || len(result.Failing) > 0 {
		p.failing = since(p.failing, result.Failing, now)
	}
}

// reachOf returns the sets that a decision chose from. It is nil while the grace after the start keeps clusters and a set is missing, by
// whose deletion they may leave: a brake must not count that.
func reachOf(result *engine.Result) []*fleet.Set {
	if len(result.Retained) > 0 && result.Trace.LacksSets() {
		return nil
	}
	return result.Trace.Reach()
}

// since returns the instant from which something is true of each of some clusters, in a new map; nil for no clusters.
func since(known map[string]time.Time, of []string, now time.Time) map[string]time.Time {
	if len(of) == 0 {
		return nil
	}
	out := make(map[string]time.Time, len(of))
	for _, name := range of {
		out[name] = ledger.Since(known, name, now)
	}
	return out
}

// Peek returns the input of a placement as of now without beginning an attempt, so Finish is not needed. Unlike Gather it
// also returns the input of a placement that Berth does not decide. Ok is false if the placement does not exist.
func (s *Stored) Peek(key fleet.Key, now time.Time) (c Input, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, known := s.compile(key)
	if !known {
		return Input{}, false
	}
	return s.input(key, p, now), true
}

// Fleet returns the fleet as it is known now.
func (s *Stored) Fleet(now time.Time) *fleet.Snapshot {
	snapshot, _ := s.fleet.Snapshot(now)
	return snapshot
}

// compile returns a placement once its newest spec is compiled and indexed. Compiling takes up to a second of a core, so
// the caller does it instead of the informer, and without the lock. The caller holds the lock before and after. Known is
// false if the placement does not exist, and before Ready.
func (s *Stored) compile(key fleet.Key) (p *placementState, known bool) {
	if !s.ready {
		return nil, false
	}
	for p, known = s.placements[key]; known && p.compiledSpec < p.specCount; p, known = s.placements[key] {
		spec, object := p.specCount, p.cached
		s.mu.Unlock()
		made, faults := program.Compile(object, s.env)
		s.mu.Lock()
		if s.placements[key] == p && p.specCount == spec {
			p.program, p.faults, p.compiledSpec = made, faults, spec
			s.fleet.setProgram(key, made)
		}
	}
	return p, known
}

// initialize takes the existing slices of a placement as written by this process: those with its name that no other
// placement controls. It runs once, before the first decision.
func (s *Stored) initialize(key fleet.Key, p *placementState) {
	p.initialized, p.attempts, p.dropped = true, attempts{}, nil
	for name := range s.slicesOf[key] {
		slice := s.slices[name]
		if slice.cached == nil {
			continue
		}
		if owner, _, named := plan.Owner(slice.cached); !named || owner != key {
			continue
		}
		if controller := metav1.GetControllerOf(slice.cached); controller == nil || controller.UID == p.cached.UID {
			slice.own.Accept(slice.cached)
		}
	}
	s.publishDecisions(key)
}

// input returns the input of a placement. The lock is held while the fleet is read, so that the decisions in the snapshot are those of the
// stored slices. The program is indexed before the snapshot is made, so that a change that the snapshot lacks enqueues the placement.
func (s *Stored) input(key fleet.Key, p *placementState, now time.Time) Input {
	snapshot, changes := s.fleet.Snapshot(now)
	if p.decided {
		snapshot = snapshot.Retain(fleet.Retention{Until: snapshot.Retention.Until, Only: p.stillRetained(snapshot, key.Namespace)})
	}
	return Input{
		Snapshot: snapshot, Changes: changes, Program: p.program, Faults: p.faults,
		Stored: plan.Stored{Placement: p.current(), Slices: s.currentSlices(key), FormerUID: s.former[key]}, Failing: p.failing,
		Braked: p.braked, Reach: p.reach, Anew: p.anew, Waits: s.goesWithDefinition(),
	}
}

// stillRetained returns the clusters that the grace after the start keeps.
func (p *placementState) stillRetained(s *fleet.Snapshot, namespace string) []string {
	if len(p.reached) == 0 || !s.Now.Before(s.Retention.Until) {
		return p.retained
	}
	now, out := reached(s, namespace, p.program, p.reached), []string{}
	for _, name := range p.retained {
		if !slices.Contains(p.reached, name) || slices.Contains(now, name) {
			out = append(out, name)
		}
	}
	return out
}

// reached returns those of some clusters that a set has which is bound to a namespace and which a program chooses from.
func reached(s *fleet.Snapshot, namespace string, p *program.Program, names []string) []string {
	chooses := fleet.SetNameFilter(nil)
	if p != nil {
		chooses = fleet.SetNameFilter(p.ClusterSets)
	}
	var out []string
	for _, name := range names {
		id, known := s.ID(name)
		if known && slices.ContainsFunc(s.BoundSets(namespace), func(bound string) bool {
			set, exists := s.Set(bound)
			return exists && chooses(bound) && set.Has(s.Cluster(id))
		}) {
			out = append(out, name)
		}
	}
	return out
}

// currentSlices returns the stored slices of a placement, including the writes of this process.
func (s *Stored) currentSlices(key fleet.Key) []*clusterv1beta1.PlacementDecision {
	var out []*clusterv1beta1.PlacementDecision
	for name := range s.slicesOf[key] {
		if object := s.slices[name].own.Stored(s.slices[name].cached); object != nil {
			out = append(out, object)
		}
	}
	return out
}
