package plan_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/assumed"
	"github.com/berth-project/berth/internal/kube/evidence"
	"github.com/berth-project/berth/rollout"
)

// stories is how many random histories of rollouts are followed. Story n has shortest + n%spread steps: a fault shows in a short one first.
const stories, shortest, spread = 260, 8, 64

// demandsDeadlineOnce is false while a deadline may run again for a cluster that succeeded and whose work another client deleted: the new
// work is a new start.
const demandsDeadlineOnce = false

// grace is how much of the time after the instant that a plan named may still count as watched.
const grace = time.Minute

var (
	storyNames = []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	storyRefs  = []string{"p", "q"}
	// storyStrategies are what files decide. Percentages are those of maxFailures alone, and ProgressivePerGroup has maxFailures 0: the
	// oracle then needs no rounding of its own.
	storyStrategies = []string{
		"{type: Progressive, progressive: {maxConcurrency: 1}}",
		"{type: Progressive, progressive: {maxConcurrency: 2, maxFailures: 1, minSuccessTime: 2m}}",
		"{type: Progressive, progressive: {maxConcurrency: 2, maxFailures: 16%, progressDeadline: 20m}}",
		"{type: Progressive, progressive: {maxConcurrency: 3, mandatoryDecisionGroups: [{groupName: canary}]}}",
		"{type: Progressive, progressive: {maxConcurrency: 2, minSuccessTime: 5m, progressDeadline: 3m, " +
			"mandatoryDecisionGroups: [{groupName: canary}]}}",
		"{type: Progressive, progressive: {maxConcurrency: 2, maxFailures: 2, minSuccessTime: 3m, " +
			"mandatoryDecisionGroups: [{groupName: canary}, {groupName: early}]}}",
		"{type: Progressive, progressive: {maxConcurrency: 3, maxFailures: 1, mandatoryDecisionGroups: [{groupIndex: 0}]}}",
		"{type: Progressive, progressive: {maxConcurrency: 2, minSuccessTime: 1m}, approval: {}}",
		"{type: Progressive, progressive: {maxConcurrency: 2, maxFailures: 3, " +
			"mandatoryDecisionGroups: [{groupName: canary}]}, approval: {required: [{groupName: early}]}}",
		"{type: Progressive, progressive: {maxConcurrency: 2, maxFailures: 50%}}",
		"{type: Progressive, progressive: {maxConcurrency: 1, minSuccessTime: 2m, mandatoryDecisionGroups: [{groupIndex: 0}]}}",
		"{type: ProgressivePerGroup, progressivePerGroup: {minSuccessTime: 2m}}",
		"{type: ProgressivePerGroup, progressivePerGroup: {progressDeadline: 30m, mandatoryDecisionGroups: [{groupName: early}]}}",
		"{type: All}",
		"{type: All, all: {progressDeadline: 30m}}",
	}
)

// member is a cluster of the fleet, as it is.
type member struct {
	// groups are the groups to which its labels and the placements bring it, by placement. Without one the placement does not want it.
	groups           map[string]string
	gone, denied     bool
	tainted, drained bool
	// silent means that its agent does nothing. renewed is its last sign of life.
	silent  bool
	renewed time.Time
}

// story is a random history of rollouts with a naive oracle.
type story struct {
	*state
	*rand.Rand
	t    testing.TB
	seed uint64
	step int
	// members are the clusters, groups the groups of each placement in their order. The group without a name comes last.
	members map[string]*member
	groups  map[string][]string
	// generations are those of the placements. Torn placements have no complete decision.
	generations map[string]int64
	torn        map[string]bool
	// file has the references as the file of the set has them, spec as they are stored.
	file, spec []workv1alpha1.LocalPlacementReference
	// dismissed are the clusters that were deleted or denied before they started a template: they are not expected any more.
	dismissed map[string]bool
	// paused, approved, passes and pardoned are what people decided, and what it is for.
	paused                     bool
	approved, passes, pardoned map[string]bool
	// without are the templates that may finish without missing clusters.
	without map[string]bool
	// hashes are those of the templates that the set has had.
	hashes []string

	// reworded means that the overrides may not be those of the last rollout that finished.
	reworded bool

	// given is the template that was last written to each cluster.
	given map[string]string

	facts     *facts
	snapshots []snapshot
	log       []string
	tally     *tally
}

// snapshot is a status that was stored, with what the oracle had then.
type snapshot struct {
	status workv1alpha1.ManifestWorkReplicaSetStatus
	facts  *facts
}

// tally counts what happened in all stories.
type tally struct {
	steps, plans int
	kinds, holds map[string]int
}

// facts are what was seen of the rollout of one template by plans whose status was stored.
type facts struct {
	hash string
	// base are how many clusters each placement selected at the start.
	base map[string]int
	refs string
	// moved means that the references were edited since.
	moved bool
	// breached are the placements that were breached at the last plan, or when they were taken out.
	breached map[string]bool
	// generations are those of the placements at the last plan.
	generations map[string]int64
	clusters    map[string]*fact
	gates       map[string]*gateFacts
	// departed counts clusters that had succeeded by a record that was restored, and had left since. In the place of each, another cluster
	// with the template counts as succeeded.
	departed int
	// planned is the time of the last plan, until is when it is due again.
	planned, until time.Time
}

// fact is what was seen of a cluster that was given the template.
type fact struct {
	// recorded is when it was first on record, written whether it was given the template.
	recorded time.Time
	written  bool
	// inherited means that it had the template before the rollout began.
	inherited bool
	// ruler and groups are those at its start.
	ruler  string
	groups map[string]string
	// watched is how long its success was watched at most. It soaks while its success lasts, and has soaked when that was long enough.
	watched         time.Duration
	since           time.Time
	soaking, soaked bool
	// reached means that it succeeded once, failed that it failed and has not succeeded since. It is lost or left until it succeeds.
	reached, failed, lost, left bool
	// blamed means that it has failed or was lost at some time.
	blamed bool
	// selected and available are what the last plan saw.
	selected, available bool
}

// gateFacts are what is known of a mandatory group.
type gateFacts struct {
	name string
	// unknown means that it is not certain which group an index meant.
	unknown bool
	// members are the clusters that were in the group all along until they started: whenever it was opened, they prove it.
	members map[string]bool
	// candidates are the clusters that may have been in the group when it was opened. No other proves it. Opened means that it has been.
	candidates map[string]bool
	opened     bool
	proven     bool
}

func (f *facts) clone() *facts {
	out := *f
	out.base, out.generations = maps.Clone(f.base), maps.Clone(f.generations)
	out.clusters, out.gates = map[string]*fact{}, map[string]*gateFacts{}
	for name, known := range f.clusters {
		out.clusters[name] = new(*known)
	}
	for key, gate := range f.gates {
		copied := *gate
		copied.members, copied.candidates = maps.Clone(gate.members), maps.Clone(gate.candidates)
		out.gates[key] = &copied
	}
	return &out
}

func newStory(t testing.TB, seed uint64, counts *tally) *story {
	s := &story{
		state: newState(t), Rand: rand.New(rand.NewPCG(seed, 0x36)), t: t, seed: seed, members: map[string]*member{}, tally: counts,
		groups: map[string][]string{"p": {"canary", "early", ""}, "q": {"canary", ""}}, generations: map[string]int64{"p": 1, "q": 1},
		torn: map[string]bool{}, approved: map[string]bool{}, passes: map[string]bool{}, pardoned: map[string]bool{},
		without:   map[string]bool{},
		dismissed: map[string]bool{},
		given:     map[string]string{}, facts: &facts{},
	}
	s.set.Spec.PlacementRefs = nil
	for i, name := range storyNames {
		m := &member{groups: map[string]string{"p": []string{"canary", "canary", "early", "", "", "", "", ""}[i]}, gone: i >= 6}
		if s.IntN(3) == 0 {
			m.groups["q"] = []string{"canary", ""}[s.IntN(2)]
		}
		s.members[name] = m
		s.label(name, "here") // so that overrides can be rendered
	}
	s.file = []workv1alpha1.LocalPlacementReference{s.ref("p")}
	if s.IntN(3) == 0 {
		s.file = append(s.file, s.ref("q"))
	}
	s.spec = slices.Clone(s.file)
	return s
}

// ref draws a reference to a placement.
func (s *story) ref(placement string) workv1alpha1.LocalPlacementReference {
	strategy := parseStrategy(s.t, storyStrategies[s.IntN(len(storyStrategies))])
	if s.IntN(4) == 0 {
		strategy.FailureStrategy = workv1alpha1.AbortAll
	}
	return workv1alpha1.LocalPlacementReference{Name: placement, RolloutStrategy: strategy}
}

func (s *story) note(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf("%3d %6s  ", s.step, s.now.Sub(start).Round(time.Second))+fmt.Sprintf(format, args...))
}

// fail ends the story with its last lines.
func (s *story) fail(format string, args ...any) {
	s.t.Helper()
	lines := s.log
	if len(lines) > 40 {
		lines = lines[len(lines)-40:]
	}
	record := "no record"
	if r := s.set.Status.Rollout; r != nil {
		record = fmt.Sprintf("record of %s finished %v", r.Revision[:4], r.FinishedTime != nil)
		for _, entry := range r.Clusters {
			record += fmt.Sprintf(" %s:%s", entry.Name, entry.Phase)
		}
	}
	what := fmt.Sprintf(format, args...)
	s.t.Fatalf("seed %d, step %d: %s\nplacements %s\n%s\n%s", s.seed, s.step, what, s.describe(), record, strings.Join(lines, "\n"))
}

func (s *story) describe() string {
	out := ""
	for _, ref := range s.set.Spec.PlacementRefs {
		out += fmt.Sprintf("%s [%s] by %s; ", ref.Name, s.text(ref.Name), describeStrategy(&ref.RolloutStrategy))
	}
	return out
}

func describeStrategy(strategy *workv1alpha1.PlacementRolloutStrategy) string {
	out := fmt.Sprintf("%s %s", strategy.Type, strategy.FailureStrategy)
	if strategy.Progressive != nil {
		out += fmt.Sprintf(" concurrency %s failures %s", strategy.Progressive.MaxConcurrency.String(), strategy.Progressive.MaxFailures.String())
	}
	pace := rollout.PaceOf(&strategy.RolloutStrategy)
	out += fmt.Sprintf(" soak %s deadline %s", pace.MinSuccessTime, pace.Deadline)
	for _, group := range rollout.MandatoryGroups(&strategy.RolloutStrategy) {
		out += " mandatory " + rollout.Reference(group)
	}
	if strategy.Paused {
		out += " paused"
	}
	if strategy.Approval != nil {
		out += " with approval"
	}
	return out
}

// in returns the group in which a placement has a cluster.
func (s *story) in(placement, cluster string) (string, bool) {
	m := s.members[cluster]
	group, wanted := m.groups[placement]
	return group, wanted && !m.gone && !m.denied && !m.tainted && !m.drained
}

// text returns the decision of a placement as selects reads it. Empty groups have no slice, so that indices close up.
func (s *story) text(placement string) string {
	var out []string
	for _, group := range s.groups[placement] {
		var names []string
		for _, name := range storyNames {
			if in, selected := s.in(placement, name); selected && in == group {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			continue
		}
		if text := strings.Join(names, " "); group == "" {
			out = append(out, text)
		} else {
			out = append(out, group+":"+text)
		}
	}
	return strings.Join(out, "|")
}

// key returns the group of a cluster in the decision of a placement.
func (s *story) key(placement, cluster string) (decision.GroupKey, bool) {
	for _, group := range s.placements[placement].Decisions.Groups() {
		if slices.Contains(group.Clusters, cluster) {
			return group.GroupKey, true
		}
	}
	return decision.GroupKey{}, false
}

// ruler returns the placement that rules a cluster; empty for none.
func (s *story) ruler(cluster string) string {
	for _, ref := range s.set.Spec.PlacementRefs {
		if _, selected := s.in(ref.Name, cluster); selected {
			return ref.Name
		}
	}
	return ""
}

func (s *story) strategy(placement string) *workv1alpha1.PlacementRolloutStrategy {
	for i := range s.set.Spec.PlacementRefs {
		if s.set.Spec.PlacementRefs[i].Name == placement {
			return &s.set.Spec.PlacementRefs[i].RolloutStrategy
		}
	}
	return nil
}

// decided reports whether every placement of the set has a complete decision.
func (s *story) decided() bool {
	return !slices.ContainsFunc(s.set.Spec.PlacementRefs, func(ref workv1alpha1.LocalPlacementReference) bool { return s.torn[ref.Name] })
}

// arrange brings placements, set and members into the state that the next plan reads.
func (s *story) arrange() plan.Input {
	clear(s.placements)
	for _, placement := range storyRefs {
		s.selects(placement, s.text(placement))
		object := s.placements[placement].Object
		object.Generation = s.generations[placement]
		object.Status.Conditions = []metav1.Condition{{Type: "PlacementSatisfied", Status: "True", ObservedGeneration: object.Generation}}
		if s.torn[placement] {
			object.Status.NumberOfSelectedClusters++
		}
	}
	hash := s.hash(s.t)
	s.set.Spec.PlacementRefs = nil
	for _, ref := range s.spec {
		ref.RolloutStrategy = *ref.RolloutStrategy.DeepCopy()
		if approval := ref.RolloutStrategy.Approval; approval != nil {
			for _, group := range s.decidedKeys(ref.Name) {
				if s.approved[hash+ref.Name+group.String()] {
					to := clusterv1alpha1.MandatoryDecisionGroup{GroupName: group.Name, GroupIndex: int32(max(group.Index, 0))}
					approval.Approved = append(approval.Approved, to)
				}
			}
		}
		s.set.Spec.PlacementRefs = append(s.set.Spec.PlacementRefs, ref)
	}
	s.state.members = map[string]evidence.Member{}
	for name, m := range s.members {
		if !m.silent {
			m.renewed = s.now
		}
		s.state.members[name] = evidence.Member{Gone: m.gone, Denied: m.denied, Unavailable: m.tainted, Renewed: m.renewed}
	}
	s.kept[hash] = true
	if !slices.Contains(s.hashes, hash) {
		s.hashes = append(s.hashes, hash)
	}
	s.observe()
	in := s.input(s.t)
	in.Control = s.acts()
	return in
}

// acts returns what people decided, about templates of the past too.
func (s *story) acts() *rolloutv1alpha1.RolloutControl {
	out := &rolloutv1alpha1.RolloutControl{Spec: rolloutv1alpha1.RolloutControlSpec{Paused: s.paused}}
	for _, of := range s.hashes {
		s.addActs(&out.Spec, of)
	}
	if hash := s.hash(s.t); s.without[hash] {
		out.Spec.WithoutMissing = &rolloutv1alpha1.TemplateDecision{Revision: hash}
	}
	return out
}

// addActs adds what people decided about the template with a hash.
func (s *story) addActs(spec *rolloutv1alpha1.RolloutControlSpec, hash string) {
	for _, cluster := range storyNames {
		if s.pardoned[hash+cluster] {
			spec.Forgiven = append(spec.Forgiven, rolloutv1alpha1.ForgivenCluster{Cluster: cluster, Revision: hash})
		}
	}
	var groups []clusterv1alpha1.MandatoryDecisionGroup
	for _, name := range []string{"canary", "early", "pilot", "late"} {
		groups = append(groups, clusterv1alpha1.MandatoryDecisionGroup{GroupName: name})
	}
	for index := range int32(8) {
		groups = append(groups, clusterv1alpha1.MandatoryDecisionGroup{GroupIndex: index})
	}
	for _, placement := range storyRefs {
		for _, group := range groups {
			if s.passes[hash+placement+rollout.Reference(group)] {
				spec.Approvals = append(spec.Approvals, rolloutv1alpha1.GroupApproval{
					MandatoryDecisionGroup: group, Placement: placement, Revision: hash, For: rolloutv1alpha1.ApprovalProof,
				})
			}
		}
	}
}

func (s *story) decidedKeys(placement string) []decision.GroupKey {
	var out []decision.GroupKey
	for _, group := range s.placements[placement].Decisions.Groups() {
		out = append(out, group.GroupKey)
	}
	return out
}

// workOf returns the work of a cluster; nil without one.
func (s *story) workOf(cluster string) *workv1.ManifestWork {
	return s.stored[types.NamespacedName{Namespace: cluster, Name: plan.WorkName("shop", "web")}]
}

// has reports whether a cluster has a template.
func (s *story) has(cluster, hash string) bool {
	work := s.workOf(cluster)
	return work != nil && work.DeletionTimestamp == nil && plan.IsCurrent(work, hash)
}

// stateOf returns the state of a cluster with a template, by the reports of the present generation.
func (s *story) stateOf(cluster, hash string) rollout.State {
	if !s.has(cluster, hash) {
		return rollout.StateToApply
	}
	work := s.workOf(cluster)
	is := func(kind string) string {
		condition := meta.FindStatusCondition(work.Status.Conditions, kind)
		if condition != nil && condition.ObservedGeneration == work.Generation {
			return string(condition.Status)
		}
		return ""
	}
	switch {
	case is("Applied") == "":
		return rollout.StateProgressing
	case is("Degraded") == "True":
		return rollout.StateFailed
	case is("Progressing") == "False":
		return rollout.StateSucceeded
	default:
		return rollout.StateProgressing
	}
}

// see returns the facts with what a plan sees now.
func (s *story) see() *facts {
	hash := s.hash(s.t)
	next := s.facts.clone()
	if next.hash != hash {
		next = &facts{hash: hash, base: map[string]int{}}
		next.clusters, next.gates = map[string]*fact{}, map[string]*gateFacts{}
		next.planned, next.until = s.now, s.now
	}
	watched := s.now.Sub(next.planned)
	if !next.until.IsZero() && s.now.After(next.until.Add(grace)) {
		watched = next.until.Sub(next.planned) + grace
	}
	refs := fmt.Sprint(len(s.spec))
	for _, ref := range s.spec {
		refs += ref.Name
	}
	moved := next.refs != "" && next.refs != refs
	dropped := false
	for _, ref := range s.spec {
		known, has := next.generations[ref.Name]
		dropped = dropped || !has || known != s.generations[ref.Name]
	}
	for _, name := range storyNames {
		s.seeCluster(next, name, watched, moved, dropped)
	}
	for _, ref := range s.set.Spec.PlacementRefs {
		if next.base[ref.Name] == 0 && !s.torn[ref.Name] {
			next.base[ref.Name] = len(slices.Collect(s.placements[ref.Name].Decisions.ClusterNames()))
		}
		s.seeGates(next, &ref)
	}
	if s.decided() {
		next.refs, next.generations, next.moved = refs, maps.Clone(s.generations), next.moved || moved
	}
	next.planned, next.breached = s.now, s.latch(next)
	return next
}

func (s *story) seeCluster(next *facts, name string, watched time.Duration, moved, dropped bool) {
	known, m, state := next.clusters[name], s.members[name], s.stateOf(name, next.hash)
	ruler := s.ruler(name)
	if known == nil {
		// A work that another client edited is put back at once: its cluster has the template.
		if work := s.workOf(name); work == nil || work.DeletionTimestamp != nil || s.given[name] != next.hash {
			return
		}
		known = &fact{written: true, inherited: true, ruler: ruler, groups: s.groupsOf(name), recorded: s.now}
		next.clusters[name] = known
	}
	hadFailed := known.failed
	switch {
	case state != rollout.StateSucceeded || m.tainted:
		known.soaking, known.watched = false, 0
	case known.soaking:
		known.watched += watched
	default:
		known.soaking, known.since = true, s.now
	}
	if state == rollout.StateSucceeded {
		known.reached, known.failed, known.lost, known.left = true, false, false, false
	}
	known.failed = known.failed || state == rollout.StateFailed
	known.blamed = known.blamed || known.failed
	if known.soaking && (known.inherited || ruler != "" && s.soakedBy(known, name)) {
		known.soaked = true
	}
	if !s.decided() {
		return
	}
	if ruler == "" && (known.selected || !known.written) {
		known.blamed = true // it is open whether the manager saw its success, or whether its work was written: it may be lost
	}
	if known.selected && ruler == "" && known.written && !known.soaked && !known.left {
		// Where the set was edited, it is open what left. A cluster that was dropped, deleted or denied in good health has left.
		if healthy := known.available && !hadFailed && !m.tainted; moved || healthy && (m.gone || m.denied || dropped) {
			known.left = true
		} else {
			known.lost, known.blamed = true, true
		}
	}
	if ruler == "" || !demandsDeadlineOnce && state == rollout.StateToApply {
		known.reached = false // when it returns, it is open whether a deadline runs anew
	}
	known.selected, known.available = ruler != "", !m.tainted
}

// soakedBy reports whether a success was watched long enough, with a sign of life after the end. The first report is one, too.
func (s *story) soakedBy(known *fact, name string) bool {
	soak := s.soak(name)
	return known.watched >= soak && (soak == 0 || !s.members[name].renewed.Before(known.since.Add(soak)))
}

// soak returns the shortest minSuccessTime of the placements that select a cluster.
func (s *story) soak(cluster string) time.Duration {
	out := time.Duration(-1)
	for i := range s.set.Spec.PlacementRefs {
		if _, selected := s.in(s.set.Spec.PlacementRefs[i].Name, cluster); selected {
			if pace := rollout.PaceOf(&s.set.Spec.PlacementRefs[i].RolloutStrategy.RolloutStrategy); out < 0 || pace.MinSuccessTime < out {
				out = pace.MinSuccessTime
			}
		}
	}
	return max(out, 0)
}

func (s *story) groupsOf(cluster string) map[string]string {
	out := map[string]string{}
	for _, placement := range storyRefs {
		if group, selected := s.in(placement, cluster); selected {
			out[placement] = group
		}
	}
	return out
}

// seeGates records the mandatory groups of a placement, and whether each can be proven by now. A group that returns to the strategy is
// opened again.
func (s *story) seeGates(next *facts, ref *workv1alpha1.LocalPlacementReference) {
	maps.DeleteFunc(next.gates, func(key string, _ *gateFacts) bool {
		return strings.HasPrefix(key, ref.Name+"/") && !slices.ContainsFunc(rollout.MandatoryGroups(&ref.RolloutStrategy.RolloutStrategy),
			func(group clusterv1alpha1.MandatoryDecisionGroup) bool {
				return key == ref.Name+"/"+rollout.Reference(group)
			})
	})
	for _, group := range rollout.MandatoryGroups(&ref.RolloutStrategy.RolloutStrategy) {
		key := ref.Name + "/" + rollout.Reference(group)
		gate := next.gates[key]
		if gate == nil {
			gate = &gateFacts{name: group.GroupName, members: map[string]bool{}, candidates: map[string]bool{}}
			if gate.name == "" {
				gate.name = s.nameAt(ref.Name, int(group.GroupIndex))
				gate.unknown = gate.name == "" || s.torn[ref.Name]
			}
			for _, name := range storyNames {
				if in, selected := s.in(ref.Name, name); selected && in == gate.name {
					gate.members[name] = true
				}
			}
			next.gates[key] = gate
		}
		for _, name := range storyNames {
			if in, selected := s.in(ref.Name, name); !gate.opened && selected && in == gate.name {
				gate.candidates[name] = true
			}
		}
		gate.opened = gate.opened || len(gate.candidates) > 0 && !s.torn[ref.Name]
		named := rollout.Reference(clusterv1alpha1.MandatoryDecisionGroup{GroupName: gate.name})
		passed := s.passes[next.hash+ref.Name+rollout.Reference(group)] || gate.name != "" && s.passes[next.hash+ref.Name+named]
		gate.proven = gate.proven || passed || s.proves(next, ref.Name, gate)
	}
}

// nameAt returns the name of the group at an index.
func (s *story) nameAt(placement string, index int) string {
	for _, key := range s.decidedKeys(placement) {
		if key.Index == index {
			return key.Name
		}
	}
	return ""
}

// proves reports whether the clusters of a mandatory group may have proven the template: one has soaked, and no cluster is open.
func (s *story) proves(next *facts, placement string, gate *gateFacts) bool {
	proof := false
	for name, known := range next.clusters {
		proof = proof || known.soaked && (gate.unknown || gate.candidates[name])
	}
	if gate.unknown || !proof {
		return proof
	}
	for name := range gate.members {
		known := next.clusters[name]
		if in, selected := s.in(placement, name); known == nil || !known.written {
			if !selected || in != gate.name {
				delete(gate.members, name) // it went before its turn: when the group was opened, it may not have been there
				continue
			}
			return false
		}
		if !s.pardoned[next.hash+name] && (known.failed || !known.soaked && !known.left) {
			return false
		}
	}
	return true
}

// failures counts the failed and lost clusters of a placement: those that started under it and are not ruled by another one now.
func (s *story) failures(next *facts, placement string) []string {
	var out []string
	for _, name := range storyNames {
		known := next.clusters[name]
		if known == nil || !known.written || !known.failed && !known.lost || s.pardoned[next.hash+name] || known.ruler != placement {
			continue
		}
		if ruler := s.ruler(name); ruler == "" || ruler == placement {
			out = append(out, name)
		}
	}
	return out
}

// limit returns how many clusters may fail.
func (s *story) limit(next *facts, placement string) int {
	strategy, value := s.strategy(placement), intstr.IntOrString{}
	switch {
	case strategy.Type == clusterv1alpha1.Progressive && strategy.Progressive != nil:
		value = strategy.Progressive.MaxFailures
	case strategy.Type == clusterv1alpha1.All && strategy.All != nil:
		value = strategy.All.MaxFailures
	}
	base, has := next.base[placement]
	if !has {
		base = len(storyNames)
	}
	out, err := intstr.GetScaledValueFromIntOrPercent(&value, base, true)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// breached returns which clusters breach the rollout; empty for none.
func (s *story) breached(next *facts) string {
	for _, ref := range s.set.Spec.PlacementRefs {
		if failures := s.failures(next, ref.Name); len(failures) > s.limit(next, ref.Name) {
			return fmt.Sprintf("%s: %v of at most %d failed", ref.Name, failures, s.limit(next, ref.Name))
		}
	}
	for placement := range next.breached {
		if failures := s.failures(next, placement); !s.refers(placement) && len(failures) > 0 {
			return fmt.Sprintf("%s was breached when it was taken out, and %v failed", placement, failures)
		}
	}
	return ""
}

// refers reports whether the set refers to a placement.
func (s *story) refers(placement string) bool {
	return slices.ContainsFunc(s.set.Spec.PlacementRefs, func(ref workv1alpha1.LocalPlacementReference) bool { return ref.Name == placement })
}

// latch returns the placements that are breached, or were when they were taken out.
func (s *story) latch(next *facts) map[string]bool {
	out := map[string]bool{}
	for _, placement := range storyRefs {
		if s.refers(placement) {
			if len(s.failures(next, placement)) > s.limit(next, placement) {
				out[placement] = true
			}
		} else if next.breached[placement] && len(s.failures(next, placement)) > 0 {
			out[placement] = true
		}
	}
	return out
}

// inFlight returns the clusters of a placement that are surely in flight.
func (s *story) inFlight(next *facts, placement string, starting map[string]bool) []string {
	var out []string
	for _, name := range storyNames {
		known := next.clusters[name]
		under := known != nil && known.ruler == placement && known.written && !known.inherited && s.has(name, next.hash) &&
			!known.soaked && !known.failed && !known.lost && !known.left
		mayBeSelected := known != nil && known.selected && known.ruler == placement && s.torn[placement] && !s.members[name].gone
		if (s.ruler(name) == placement || mayBeSelected) && (under || starting[name]) {
			out = append(out, name)
		}
	}
	return out
}

// entries returns the clusters on a record of a template, by phase.
func entries(status *workv1alpha1.ManifestWorkReplicaSetStatus, hash string) map[string]clusterv1alpha1.ClusterRolloutPhase {
	out := map[string]clusterv1alpha1.ClusterRolloutPhase{}
	if status.Rollout != nil && strings.HasPrefix(status.Rollout.Revision, hash) {
		for _, entry := range status.Rollout.Clusters {
			out[entry.Name] = entry.Phase
		}
	}
	return out
}

// finished reports whether the template counts as finished by a status.
func finished(status *workv1alpha1.ManifestWorkReplicaSetStatus, hash string) bool {
	record := status.Rollout
	return status.CurrentRevision == hash || record != nil && strings.HasPrefix(record.Revision, hash) && record.FinishedTime != nil
}

// check compares a plan with the facts.
func (s *story) check(next *facts, out *plan.Result) {
	s.t.Helper()
	s.checkDeadlines(next, out)
	s.checkFinish(next, out)
	was, is := entries(&s.set.Status, next.hash), entries(&out.Status, next.hash)
	done := finished(&s.set.Status, next.hash) || finished(&out.Status, next.hash)
	starting := map[string]bool{}
	for name, phase := range is {
		if known := next.clusters[name]; was[name] == "" && phase == clusterv1alpha1.ClusterInFlight && (known == nil || !known.written) {
			starting[name] = true
		}
	}
	recorded := maps.Clone(starting)
	for _, write := range out.Writes {
		s.checkWrite(next, write, done)
		known := next.clusters[write.Cluster]
		if write.Revision != next.hash || s.has(write.Cluster, next.hash) {
			continue
		}
		if known != nil && known.written {
			s.checkAgain(next, write.Cluster, done)
			continue
		}
		if !done && was[write.Cluster] == "" {
			s.fail("%s starts and is not on the stored record", write.Cluster)
		}
		starting[write.Cluster] = true
	}
	if done {
		return
	}
	for name := range starting {
		s.checkStart(next, name, recorded[name], starting)
	}
}

// checkAgain fails if a cluster that had the template gets it again and there is no place for it. It is not new: nothing else holds it. One
// that was neither failed nor lost had a place already.
func (s *story) checkAgain(next *facts, name string, done bool) {
	s.t.Helper()
	placement, known := s.ruler(name), next.clusters[name]
	waits := !known.soaked && !s.pardoned[next.hash+name] && (known.failed || known.lost || known.left)
	if strategy := s.strategy(placement); !done && strategy.Type == clusterv1alpha1.Progressive && waits {
		most := strategy.Progressive.MaxConcurrency.IntValue()
		if flying := s.inFlight(next, placement, map[string]bool{name: true}); len(flying) > most+next.departed {
			s.fail("%s starts again, and %v are in flight under %s, at most %d", name, flying, placement, most)
		}
	}
}

// checkStart fails if a cluster may not start.
func (s *story) checkStart(next *facts, name string, recorded bool, starting map[string]bool) {
	s.t.Helper()
	placement := s.ruler(name)
	if placement == "" {
		s.fail("%s starts and is not selected", name)
	}
	strategy := s.strategy(placement)
	key, _ := s.key(placement, name)
	for _, group := range rollout.MandatoryGroups(&strategy.RolloutStrategy) {
		gate := next.gates[placement+"/"+rollout.Reference(group)]
		if gate.unknown && rollout.RefersTo(group, key) || gate.name != "" && gate.name == key.Name {
			break
		}
		if !gate.proven {
			s.fail("%s starts, and mandatory group %s of %s is not proven", name, rollout.Reference(group), placement)
		}
	}
	if why := s.breached(next); why != "" {
		s.fail("%s starts, and the rollout is breached: %s", name, why)
	}
	if !recorded {
		return // pauses and approvals that came after the record do not take it back
	}
	if strategy.Paused || s.paused {
		s.fail("%s starts, and %s is paused", name, placement)
	}
	if rollout.NeedsApproval(&strategy.RolloutStrategy, key) {
		s.fail("%s starts, and group %s of %s is not approved", name, key, placement)
	}
	if strategy.Type == clusterv1alpha1.Progressive {
		if flying := s.inFlight(next, placement, starting); len(flying) > strategy.Progressive.MaxConcurrency.IntValue()+next.departed {
			s.fail("%s starts, and %v are in flight under %s, at most %d", name, flying, placement, strategy.Progressive.MaxConcurrency.IntValue())
		}
	}
}

// checkWrite fails if no rule allows a write whatever else happens.
func (s *story) checkWrite(next *facts, write plan.Write, done bool) {
	s.t.Helper()
	former := s.set.Status.CurrentRevision
	switch {
	case write.Verb == plan.Delete:
		for _, ref := range s.set.Spec.PlacementRefs {
			if _, selected := s.in(ref.Name, write.Cluster); selected || s.torn[ref.Name] && s.members[write.Cluster].groups[ref.Name] != "" {
				s.fail("the work of %s goes, and %s may select it", write.Cluster, ref.Name)
			}
		}
	case write.Revision == "":
	case write.Revision != next.hash && write.Revision != former:
		s.fail("%s gets template %s, which is neither the present nor the last finished one", write.Cluster, write.Revision)
	case write.Revision != next.hash && s.has(write.Cluster, next.hash) && s.set.Status.AbortedTime == nil:
		s.fail("%s returns to the former template, and no abort is stored", write.Cluster)
	case write.Revision == next.hash && !done && s.set.Status.AbortedTime != nil && s.strategy(s.ruler(write.Cluster)).FailureStrategy != "":
		s.fail("%s gets the template, and its rollout is aborted", write.Cluster)
	case write.Verb == plan.Create && former == next.hash && write.Revision != next.hash:
		s.fail("%s gets template %s, and the present one has finished", write.Cluster, write.Revision)
	}
}

// checkFinish fails if a template counts as finished before it has.
func (s *story) checkFinish(next *facts, out *plan.Result) {
	s.t.Helper()
	if out.Status.CurrentRevision == s.set.Status.CurrentRevision {
		return
	}
	if out.Status.CurrentRevision != next.hash {
		s.fail("currentRevision becomes %q", out.Status.CurrentRevision)
	}
	s.note("finished")
	if why := s.breached(next); why != "" {
		s.fail("the template has finished, and the rollout is breached: %s", why)
	}
	count, dismissed := map[string]int{}, 0
	for _, name := range storyNames {
		known, ruler := next.clusters[name], s.ruler(name)
		switch {
		case known != nil && known.written && ruler == "" && known.left && !s.goneOrPardoned(next, name):
			// An edit dropped it before it succeeded.
		case known != nil && known.written:
			count[known.ruler]++
		case ruler != "":
			s.fail("the template has finished, and %s never had it", name)
		case s.dismissed[next.hash+name], known != nil && (s.members[name].gone || s.members[name].denied):
			dismissed++
		}
		if ruler != "" && !known.soaked && !known.failed && !known.lost && !s.pardoned[next.hash+name] {
			s.fail("the template has finished, and %s has not succeeded", name)
		}
	}
	for _, ref := range s.set.Spec.PlacementRefs {
		// A cluster that two placements select counts under one of them: then it is open which clusters it is compared with.
		if len(s.set.Spec.PlacementRefs) == 1 && !next.moved && !s.without[next.hash] && count[ref.Name]+dismissed < next.base[ref.Name] {
			s.fail("the template has finished, and %d of %d clusters of %s started", count[ref.Name], next.base[ref.Name], ref.Name)
		}
	}
}

// goneOrPardoned reports whether a cluster is not missed once it has left.
func (s *story) goneOrPardoned(next *facts, name string) bool {
	return s.members[name].gone || s.members[name].denied || s.pardoned[next.hash+name]
}

// checkDeadlines fails if a deadline passes too early, or for a cluster that succeeded.
func (s *story) checkDeadlines(next *facts, out *plan.Result) {
	s.t.Helper()
	for _, verdict := range out.Verdicts {
		s.tally.holds[string(verdict.Code)]++
		known := next.clusters[verdict.Cluster]
		if known == nil {
			continue
		}
		// A failure that is forgiven before it comes is never seen as one. The deadline takes the place of such a cluster like that of any.
		forgiven := verdict.Code == rollout.Skipped && s.pardoned[next.hash+verdict.Cluster] && !known.failed && !known.reached
		if verdict.Code != rollout.TimedOut && !forgiven {
			continue
		}
		strategy := s.strategy(verdict.Placement)
		if known.reached {
			s.fail("%s timed out, and it has succeeded before", verdict.Cluster)
		}
		if deadline := rollout.PaceOf(&strategy.RolloutStrategy).Deadline; !known.inherited && s.now.Sub(known.recorded) < deadline {
			s.fail("%s timed out after %s of %s", verdict.Cluster, s.now.Sub(known.recorded), deadline)
		}
		known.failed, known.blamed = true, true
	}
	for name, phase := range entries(&out.Status, next.hash) {
		if known := next.clusters[name]; known != nil && phase == clusterv1alpha1.ClusterFailed && known.reached && !known.blamed &&
			!known.inherited {
			s.fail("%s is on record as failed, and it succeeded and has not failed", name)
		}
	}
}

// fate is what becomes of a plan.
type fate struct {
	// stored means that its status is stored. Of its writes those after the first n are lost, and the response of the last one too.
	stored bool
	writes int
	killed bool
}

// once plans once.
func (s *story) once(f fate) plan.Result {
	s.t.Helper()
	s.tally.plans++
	in := s.arrange()
	next := s.see()
	out := plan.Plan(in)
	s.check(next, &out)
	if f.killed {
		s.Shuffle(len(out.Writes), func(i, j int) { out.Writes[i], out.Writes[j] = out.Writes[j], out.Writes[i] })
		f.writes = s.IntN(len(out.Writes) + 1)
		s.note("killed: %d of %d writes, stored %t", f.writes, len(out.Writes), f.stored)
	}
	for name := range entries(&out.Status, next.hash) {
		if known := next.clusters[name]; known == nil {
			next.clusters[name] = &fact{
				recorded: s.now, ruler: s.ruler(name), groups: s.groupsOf(name), selected: s.ruler(name) != "", available: !s.members[name].tainted,
			}
			s.note("  %s is on record", name)
		}
	}
	for i, write := range out.Writes {
		if f.killed && i >= f.writes {
			break
		}
		s.wrote(next, write, !f.killed)
	}
	if f.killed {
		s.own = &assumed.Cache[*workv1.ManifestWork]{}
	}
	if f.stored {
		next.until = out.Until
		if phase := phaseOf(&out); phase != phaseOf(&plan.Result{Status: s.set.Status}) {
			s.note("  %s", phase)
		}
		s.set.Status, s.facts = out.Status, next
		s.snapshots = append(s.snapshots, snapshot{*out.Status.DeepCopy(), next.clone()})
	}
	s.observe()
	return out
}

func phaseOf(out *plan.Result) string {
	if condition := meta.FindStatusCondition(out.Status.Conditions, "Progressing"); condition != nil {
		return condition.Reason + ": " + condition.Message
	}
	return ""
}

// wrote stores a write and records it in the facts.
func (s *story) wrote(next *facts, write plan.Write, response bool) {
	s.t.Helper()
	if write.Verb == plan.Delete || write.Revision != "" {
		s.note("  %s %s %.4s", write.Verb, write.Cluster, write.Revision)
	}
	if err := s.apply(write, response); err != nil {
		s.fail("%s of %s: %v", write.Verb, write.Cluster, err)
	}
	if write.Revision != "" {
		s.given[write.Cluster] = write.Revision
	}
	if write.Revision != next.hash {
		return
	}
	for _, known := range []*facts{s.facts, next} {
		if known.hash != next.hash {
			continue
		}
		of := known.clusters[write.Cluster]
		if of == nil {
			of = &fact{recorded: s.now, selected: true, available: true}
			known.clusters[write.Cluster] = of
		}
		of.left = false
		if !of.written {
			of.written, of.ruler, of.groups = true, s.ruler(write.Cluster), s.groupsOf(write.Cluster)
		}
	}
}

// settled plans until no cluster begins, and checks what then holds.
func (s *story) settled() plan.Result {
	s.t.Helper()
	out := s.once(fate{stored: true})
	for i := 0; out.Begins; i++ {
		if i > 20 {
			s.fail("plans begin without end")
		}
		out = s.once(fate{stored: true})
	}
	hash := s.set.Status.CurrentRevision
	if s.set.Status.Rollout.FinishedTime != nil {
		s.reworded = false
	}
	for _, name := range storyNames {
		if s.ruler(name) == "" {
			continue
		}
		i := slices.IndexFunc(out.Verdicts, func(v plan.Verdict) bool { return v.Cluster == name })
		work := s.workOf(name)
		if i < 0 || work == nil && out.Verdicts[i].Message == "" {
			s.fail("%s is selected and has neither a work nor a reason", name)
		}
		// Where no decision is complete, it is open what a cluster gets. Overrides are proven before a cluster that joins gets them.
		if work == nil && hash != "" && s.decided() && !s.reworded {
			s.fail("%s has no work although template %.4s has finished: %s", name, hash, out.Verdicts[i].Message)
		}
	}
	return out
}

// pass lets time pass with plans whenever one needs it.
func (s *story) pass(d time.Duration) {
	s.t.Helper()
	end := s.now.Add(d)
	for out := s.settled(); s.now.Before(end); out = s.settled() {
		next := end
		if !out.Until.IsZero() && out.Until.Before(end) {
			next = out.Until
		}
		if !next.After(s.now) {
			next = s.now.Add(time.Second)
		}
		s.now = next
	}
}

// kind is a kind of step, with how often it is drawn.
type kind struct {
	name   string
	weight int
	do     func(s *story)
}

// kinds returns the kinds of steps.
func kinds() []kind {
	return []kind{
		{"time passes", 14, func(s *story) {
			s.pass([]time.Duration{10 * time.Second, time.Minute, 3 * time.Minute, 7 * time.Minute}[s.IntN(4)])
		}},
		{"agents report", 20, (*story).report},
		{"every agent reports success", 8, (*story).reportAll},
		{"a cluster regresses", 4, (*story).regress},
		{"an agent reports of another generation", 3, (*story).reportStale},
		{"an agent reports of the former template", 3, (*story).reportFormer},
		{"a clock lies", 2, (*story).lie},
		{"a cluster joins", 5, (*story).join},
		{"a cluster is drained", 3, func(s *story) { s.leave("drained", func(m *member) { m.drained = true }) }},
		{"a cluster falls silent", 4, func(s *story) { s.leave("silent", func(m *member) { m.silent = true }) }},
		{"a cluster is tainted", 4, func(s *story) { s.leave("tainted", func(m *member) { m.silent, m.tainted = true, true }) }},
		{"a cluster is deleted", 2, (*story).deleteCluster},
		{"a cluster is denied", 1, func(s *story) { s.leave("denied", func(m *member) { m.denied = true }) }},
		{"a cluster returns", 8, (*story).comeBack},
		{"a cluster is relabelled", 4, (*story).relabel},
		{"the clusters of a group are exchanged", 2, (*story).exchange},
		{"all that has not started is away", 2, (*story).drainUnstarted},
		{"a placement is edited", 3, (*story).editPlacement},
		{"a group is edited", 5, (*story).editGroups},
		{"a decision is torn", 2, (*story).tear},
		{"the template is edited", 5, (*story).editTemplate},
		{"a person undoes", 2, (*story).undo},
		{"the overrides are edited", 2, (*story).editOverrides},
		{"a strategy is edited", 3, (*story).editStrategy},
		{"references are edited", 2, (*story).editRefs},
		{"the file is applied again", 3, (*story).applyFile},
		{"a person approves", 6, (*story).approve},
		{"a person pauses", 2, (*story).pause},
		{"a person resumes", 4, (*story).resume},
		{"a person forgives", 4, (*story).forgive},
		{"a person lets it finish without the missing", 1, (*story).finishWithout},
		{"the manager is killed", 5, (*story).kill},
		{"the hub is away", 3, (*story).away},
		{"an older status is restored", 2, (*story).restore},
		{"another client interferes", 3, (*story).interfere},
	}
}

func (s *story) placement() string { return storyRefs[s.IntN(len(s.spec))%len(storyRefs)] }

// some draws a cluster for which a condition holds; empty for none.
func (s *story) some(holds func(name string, m *member) bool) string {
	var names []string
	for _, name := range storyNames {
		if holds(name, s.members[name]) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return names[s.IntN(len(names))]
}

func (s *story) lives(name string) bool {
	m := s.members[name]
	return !m.silent && !m.tainted && !m.gone && !m.denied
}

// agent lets the agent of a cluster report on its work, and hold it from then on. It removes a cluster that is being deleted.
func (s *story) agent(name, conditions string, at time.Time) {
	work := s.workOf(name)
	if work == nil {
		return
	}
	if work.DeletionTimestamp != nil {
		delete(s.stored, types.NamespacedName{Namespace: name, Name: work.Name})
		return
	}
	work = work.DeepCopy()
	work.Finalizers = []string{"agent"}
	for word := range strings.FieldsSeq(conditions) {
		kind, status, has := strings.Cut(word, "=")
		if !has {
			status = "True"
		}
		meta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionStatus(status), Reason: "Test", ObservedGeneration: work.Generation,
			LastTransitionTime: metav1.NewTime(at),
		})
	}
	s.store(work, false)
}

func (s *story) report() {
	hash, underWay := s.hash(s.t), s.IntN(3) > 0
	for range 1 + s.IntN(4) {
		name := s.some(func(name string, _ *member) bool {
			return s.lives(name) && s.workOf(name) != nil && (!underWay || s.has(name, hash) && s.stateOf(name, hash) != rollout.StateSucceeded)
		})
		if name == "" {
			return
		}
		conditions := []string{healthy, healthy, healthy, healthy, moving, failing}[s.IntN(6)]
		s.note("%s reports %s", name, conditions)
		s.agent(name, conditions, s.now)
	}
}

func (s *story) reportAll() {
	s.note("everyone reports %s", healthy)
	for _, name := range storyNames {
		if s.lives(name) {
			s.agent(name, healthy, s.now)
		}
	}
}

func (s *story) regress() {
	name := s.some(func(name string, _ *member) bool {
		return s.lives(name) && s.stateOf(name, s.hash(s.t)) == rollout.StateSucceeded
	})
	if name != "" {
		conditions := []string{moving, failing}[s.IntN(2)]
		s.note("%s reports %s after its success", name, conditions)
		s.agent(name, conditions, s.now)
	}
}

func (s *story) lie() {
	if name := s.some(func(name string, _ *member) bool { return s.lives(name) && s.workOf(name) != nil }); name != "" {
		by := []time.Duration{-10 * time.Hour, -4 * time.Minute, 3 * time.Minute, 10 * time.Hour}[s.IntN(4)]
		conditions := []string{healthy, healthy, moving, failing}[s.IntN(4)]
		s.note("%s reports %s with a clock that is off by %s", name, conditions, by)
		s.agent(name, conditions, s.now.Add(by))
	}
}

// reportStale lets an agent report of an older generation. It must change nothing.
func (s *story) reportStale() {
	name := s.some(func(name string, _ *member) bool {
		work := s.workOf(name)
		return s.lives(name) && work != nil && work.DeletionTimestamp == nil &&
			!slices.ContainsFunc(work.Status.Conditions, func(c metav1.Condition) bool { return c.ObservedGeneration == work.Generation })
	})
	if name == "" {
		return
	}
	s.changesNothing(name, func() {
		work := s.workOf(name).DeepCopy()
		for _, word := range []string{"Applied", "Available", []string{"Degraded", "Progressing"}[s.IntN(2)]} {
			meta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{
				Type: word, Status: metav1.ConditionTrue, Reason: "Test", ObservedGeneration: work.Generation - 1,
				LastTransitionTime: metav1.NewTime(s.now),
			})
		}
		s.store(work, false)
	})
}

// reportFormer lets an agent report of another template. It must change nothing.
func (s *story) reportFormer() {
	name := s.some(func(name string, _ *member) bool {
		work := s.workOf(name)
		return s.lives(name) && work != nil && work.DeletionTimestamp == nil && !s.has(name, s.hash(s.t))
	})
	if name != "" {
		s.changesNothing(name, func() { s.agent(name, []string{healthy, moving, failing}[s.IntN(3)], s.now) })
	}
}

// changesNothing fails if a report changes what the next plan writes or records.
func (s *story) changesNothing(name string, report func()) {
	s.t.Helper()
	before := plan.Plan(s.arrange())
	report()
	after := plan.Plan(s.arrange())
	s.note("%s reports of something else", name)
	effect := func(out *plan.Result) []string {
		var lines []string
		for _, write := range out.Writes {
			lines = append(lines, fmt.Sprintf("%s %s %s", write.Verb, write.Cluster, write.Revision))
		}
		slices.Sort(lines)
		return append(lines, fmt.Sprintf("%+v", out.Status.Rollout), out.Status.CurrentRevision, fmt.Sprint(out.Begins))
	}
	if diff := cmp.Diff(effect(&before), effect(&after)); diff != "" {
		s.fail("a report of another generation or template changes the plan (-without +with): %s", diff)
	}
}

func (s *story) join() {
	if name := s.some(func(_ string, m *member) bool { return m.gone || m.groups["p"] == "" && m.groups["q"] == "" }); name != "" {
		*s.members[name] = member{groups: map[string]string{"p": s.group("p")}}
		if s.IntN(3) == 0 {
			s.members[name].groups["q"] = s.group("q")
		}
		s.note("%s joins %v", name, s.members[name].groups)
	}
}

func (s *story) group(placement string) string {
	return s.groups[placement][s.IntN(len(s.groups[placement]))]
}

// leave changes a cluster that is selected, with a preference for those that have the template.
func (s *story) leave(how string, change func(m *member)) {
	hash, ruled := s.hash(s.t), func(name string, m *member) bool { return s.ruler(name) != "" && !m.silent }
	name := s.some(func(name string, m *member) bool { return ruled(name, m) && s.has(name, hash) })
	if name == "" || s.IntN(3) == 0 {
		name = s.some(ruled)
	}
	if name != "" {
		s.note("%s is %s", name, how)
		change(s.members[name])
		if m := s.members[name]; (m.gone || m.denied) && s.facts.hash == hash && !s.has(name, hash) {
			s.dismissed[hash+name] = true
		}
	}
}

func (s *story) deleteCluster() {
	s.leave("deleted", func(m *member) { m.gone = true })
	for _, name := range storyNames {
		if s.members[name].gone && s.IntN(2) == 0 {
			delete(s.stored, types.NamespacedName{Namespace: name, Name: plan.WorkName("shop", "web")}) // the namespace goes
		}
	}
}

func (s *story) comeBack() {
	name := s.some(func(_ string, m *member) bool { return m.gone || m.denied || m.tainted || m.drained || m.silent })
	if name == "" {
		return
	}
	m := s.members[name]
	*m = member{groups: m.groups}
	s.note("%s returns", name)
	if work := s.workOf(name); work != nil && work.DeletionTimestamp != nil {
		s.agent(name, "", s.now)
	}
}

func (s *story) relabel() {
	placement := s.placement()
	name := s.some(func(name string, _ *member) bool { _, selected := s.in(placement, name); return selected })
	if name == "" {
		return
	}
	if s.IntN(4) == 0 {
		delete(s.members[name].groups, placement)
		s.note("%s is relabelled away from %s", name, placement)
		return
	}
	s.members[name].groups[placement] = s.group(placement)
	s.note("%s is relabelled to %q of %s", name, s.members[name].groups[placement], placement)
}

// exchange gives the clusters of the first group, which is the mandatory one where there is one, to the last group, and as many of the
// others to the first group.
func (s *story) exchange() {
	placement := s.placement()
	first, last := s.groups[placement][0], s.groups[placement][len(s.groups[placement])-1]
	var former, others []string
	for _, name := range storyNames {
		switch group, has := s.members[name].groups[placement]; {
		case has && group == first:
			former = append(former, name)
		case has:
			others = append(others, name)
		}
	}
	count := min(len(former), len(others))
	s.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	for i := range count {
		s.members[former[i]].groups[placement], s.members[others[i]].groups[placement] = last, first
	}
	s.note("%d clusters of %q of %s are exchanged: %s", count, first, placement, s.text(placement))
}

// drainUnstarted takes away every cluster that lacks the template.
func (s *story) drainUnstarted() {
	hash := s.hash(s.t)
	for _, name := range storyNames {
		if s.ruler(name) != "" && !s.has(name, hash) {
			s.members[name].drained = true
		}
	}
	s.note("all that has not started is drained")
}

// editPlacement lets an edit of a placement drop clusters or select others.
func (s *story) editPlacement() {
	placement := s.placement()
	s.generations[placement]++
	for _, name := range storyNames {
		if m := s.members[name]; s.IntN(4) == 0 {
			if _, has := m.groups[placement]; has {
				delete(m.groups, placement)
			} else {
				m.groups[placement] = s.group(placement)
			}
		}
	}
	s.note("%s is edited: %s", placement, s.text(placement))
}

func (s *story) editGroups() {
	placement := s.placement()
	groups := s.groups[placement]
	if s.IntN(2) == 0 {
		s.groups[placement] = append(slices.Clone(groups[len(groups)-2:len(groups)-1]), append(slices.Clone(groups[:len(groups)-2]), "")...)
		s.note("the groups of %s are %q", placement, s.groups[placement])
		return
	}
	i := s.IntN(len(groups) - 1)
	from, to := groups[i], ""
	for _, name := range []string{"canary", "early", "pilot", "late"} {
		if !slices.Contains(groups, name) && (to == "" || s.IntN(2) == 0) {
			to = name
		}
	}
	s.groups[placement] = slices.Clone(groups)
	s.groups[placement][i] = to
	for _, m := range s.members {
		if in, has := m.groups[placement]; has && in == from {
			m.groups[placement] = to
		}
	}
	s.note("group %s of %s becomes %s", from, placement, to)
}

func (s *story) editTemplate() {
	if s.IntN(2) == 0 && len(s.facts.clusters) > 0 && !finished(&s.set.Status, s.facts.hash) {
		return // rollouts are followed to their end more often
	}
	s.template(fmt.Sprint(s.step))
	s.note("template %.4s", s.hash(s.t))
}

// undo returns to a template: mostly the last finished one.
func (s *story) undo() {
	hashes := slices.Sorted(maps.Keys(s.templates))
	hash := hashes[s.IntN(len(hashes))]
	if former := s.set.Status.CurrentRevision; former != "" && s.IntN(3) > 0 {
		hash = former
	}
	s.set.Generation++
	s.set.Spec.ManifestWorkTemplate = *s.templates[hash].DeepCopy()
	s.note("undo to %.4s", hash)
}

func (s *story) editStrategy() {
	i := s.IntN(len(s.spec))
	s.spec = slices.Clone(s.spec)
	s.spec[i] = s.ref(s.spec[i].Name)
	if s.IntN(2) == 0 {
		s.file = slices.Clone(s.spec)
	}
	s.set.Generation++
	s.note("%s is rolled out by %s", s.spec[i].Name, describeStrategy(&s.spec[i].RolloutStrategy))
}

func (s *story) editRefs() {
	s.spec = slices.Clone(s.spec)
	switch {
	case len(s.spec) == 1:
		other := storyRefs[0]
		if s.spec[0].Name == other {
			other = storyRefs[1]
		}
		s.spec = append(s.spec, s.ref(other))
	case s.IntN(3) == 0:
		slices.Reverse(s.spec)
	default:
		at := s.IntN(len(s.spec))
		s.spec = slices.Delete(s.spec, at, at+1)
	}
	s.set.Generation++
	s.file = slices.Clone(s.spec)
	s.note("references %s", s.refsText())
}

// editOverrides adds an override that no cluster matches, or removes it: a rollout of the template goes on.
func (s *story) editOverrides() {
	s.reworded = true
	if s.set.Generation++; len(s.set.Spec.Overrides) > 0 {
		s.set.Spec.Overrides = nil
		s.note("no overrides")
		return
	}
	s.overrides(s.t, `[{clusterSelector: {labelSelector: {matchLabels: {id: none}}}, targets: [{resource: configmaps, namespace: shop, `+
		`name: web}], patches: [{op: add, path: /data/x, value: y}]}]`)
	s.note("an override for no cluster")
}

func (s *story) refsText() string {
	out := ""
	for _, ref := range s.spec {
		out += fmt.Sprintf("%s by %s; ", ref.Name, describeStrategy(&ref.RolloutStrategy))
	}
	return out
}

// tear lets the slices of a placement disagree with its status, mostly since they lack a cluster that is drained already.
func (s *story) tear() {
	placement := s.placement()
	s.torn[placement] = true
	s.note("%s is torn", placement)
	if s.IntN(4) > 0 {
		s.leave("drained", func(m *member) { m.drained = true })
	}
}

// applyFile replaces what others changed in the spec. What a person decided beside it stays.
func (s *story) applyFile() {
	s.set.Generation++
	s.spec = slices.Clone(s.file)
	s.note("the file is applied: %s", s.refsText())
}

func (s *story) approve() {
	hash := s.hash(s.t)
	for _, ref := range s.spec {
		for _, group := range rollout.MandatoryGroups(&ref.RolloutStrategy.RolloutStrategy) {
			if s.IntN(3) == 0 {
				s.passGate(hash, ref.Name, group)
			}
		}
		if ref.RolloutStrategy.Approval == nil {
			continue
		}
		for _, key := range s.decidedKeys(ref.Name) {
			if s.IntN(2) == 0 {
				s.approved[hash+ref.Name+key.String()] = true
				s.note("group %s of %s is approved", key, ref.Name)
			}
		}
	}
}

// passGate passes a mandatory group. One by index is passed by the name that it has on record, too.
func (s *story) passGate(hash, placement string, group clusterv1alpha1.MandatoryDecisionGroup) {
	reference := rollout.Reference(group)
	s.note("%s of %s is passed", reference, placement)
	s.passes[hash+placement+reference] = true
	if gate := s.facts.gates[placement+"/"+reference]; gate != nil && s.facts.hash == hash && gate.name != "" {
		s.passes[hash+placement+rollout.Reference(clusterv1alpha1.MandatoryDecisionGroup{GroupName: gate.name})] = true
	}
}

func (s *story) pause() {
	if s.IntN(2) == 0 {
		s.paused = true
		s.note("paused")
		return
	}
	s.spec = slices.Clone(s.spec)
	s.spec[0].RolloutStrategy.Paused = true
	s.note("paused in the spec")
}

func (s *story) resume() {
	s.paused = false
	s.spec = slices.Clone(s.spec)
	for i := range s.spec {
		s.spec[i].RolloutStrategy.Paused = false
	}
	s.note("resumed")
}

func (s *story) forgive() {
	hash := s.hash(s.t)
	for name, known := range s.facts.clusters {
		if s.facts.hash == hash && (known.failed || known.lost) {
			s.pardoned[hash+name] = true
		}
	}
	s.note("failures are forgiven")
}

// finishWithout lets the rollout finish without the clusters that are missing.
func (s *story) finishWithout() {
	s.without[s.hash(s.t)] = true
	s.note("missing clusters are given up")
}

// kill kills the manager in the middle of what an event brings about.
func (s *story) kill() {
	events := []func(s *story){(*story).reportAll, (*story).resume, (*story).approve, (*story).join, (*story).editTemplate, (*story).report}
	events[s.IntN(len(events))](s)
	for range 1 + s.IntN(3) {
		s.once(fate{stored: s.IntN(3) > 0, killed: true})
		if s.IntN(3) == 0 {
			s.report()
		}
	}
}

// away lets time pass without a plan. While only the manager is away, things happen.
func (s *story) away() {
	d := []time.Duration{90 * time.Second, 20 * time.Minute, 5 * time.Hour}[s.IntN(3)]
	s.note("nobody plans for %s", d)
	for range s.IntN(3) {
		s.now = s.now.Add(d / 4)
		[]func(s *story){(*story).report, (*story).regress, (*story).comeBack, (*story).join, (*story).lie}[s.IntN(5)](s)
	}
	s.now = s.now.Add(d / 4)
}

// restore brings an older status of the same rollout back. The oracle then has what that status and the present one both have.
func (s *story) restore() {
	if len(s.snapshots) < 2 || len(s.torn) > 0 {
		return
	}
	old := s.snapshots[max(0, len(s.snapshots)-2-s.IntN(8))]
	hash := s.hash(s.t)
	if old.facts.hash != hash || s.facts.hash != hash || old.status.AbortedTime != nil || s.set.Status.AbortedTime != nil {
		return
	}
	s.reworded = true
	s.note("the status of %s is restored", old.facts.planned.Sub(start).Round(time.Second))
	s.set.Status = *old.status.DeepCopy()
	merged, now := old.facts.clone(), s.facts
	merged.planned, merged.until = now.planned, now.until
	for name, known := range old.facts.clusters {
		if known.soaked && s.ruler(name) == "" {
			merged.departed++
		}
	}
	for name, known := range now.clusters {
		before := merged.clusters[name]
		switch {
		case before == nil && !s.has(name, hash):
			continue // no record has its start
		case before == nil:
			before = new(*known)
			before.failed, before.lost, before.left = false, false, false
			merged.clusters[name] = before
		}
		before.written = before.written || s.has(name, hash)
		before.soaked, before.soaking = before.soaked || known.soaked, before.soaking || known.soaking
		// The restored record has no report that came after it: its soak goes on.
		before.watched = max(before.watched+now.planned.Sub(old.facts.planned), known.watched)
		before.failed, before.lost, before.left = before.failed && known.failed, before.lost && known.lost, before.left || known.left
	}
	for key, gate := range now.gates {
		before := merged.gates[key]
		if before == nil {
			merged.gates[key] = gate
			continue
		}
		before.proven, before.unknown = before.proven || gate.proven, before.unknown || gate.unknown
		maps.DeleteFunc(before.members, func(name string, _ bool) bool { return !gate.members[name] })
	}
	merged.moved = merged.moved || now.moved
	s.facts = merged
}

// interfere lets another client delete or edit a work.
func (s *story) interfere() {
	name := s.some(func(name string, _ *member) bool {
		return s.workOf(name) != nil && s.workOf(name).DeletionTimestamp == nil
	})
	if name == "" {
		return
	}
	key := types.NamespacedName{Namespace: name, Name: plan.WorkName("shop", "web")}
	if s.IntN(2) == 0 {
		s.note("another client edits the work of %s", name)
		work := s.stored[key].DeepCopy()
		work.Spec.Workload.Manifests, work.Generation = nil, work.Generation+1
		s.store(work, false)
		return
	}
	s.note("another client deletes the work of %s", name)
	s.deleteWork(key)
	if s.lives(name) && s.IntN(2) == 0 {
		s.agent(name, "", s.now)
	}
}

// tick does one step and plans.
func (s *story) tick(all []kind, total int) {
	s.step++
	s.tally.steps++
	for placement := range s.torn {
		if s.IntN(2) == 0 {
			delete(s.torn, placement)
			s.note("%s is whole", placement)
		}
	}
	n := s.IntN(total)
	for _, kind := range all {
		if n -= kind.weight; n < 0 {
			s.tally.kinds[kind.name]++
			kind.do(s)
			break
		}
	}
	s.pass(time.Duration(s.IntN(20)) * time.Second)
	s.tally.holds[strings.SplitN(phaseOf(&plan.Result{Status: s.set.Status}), ":", 2)[0]]++
}

// calm ends all troubles: then the template reaches every cluster, whatever was before.
func (s *story) calm() {
	s.step++
	s.note("calm")
	clear(s.torn)
	s.paused, s.file, s.spec = false, slices.Clone(s.file[:1]), slices.Clone(s.file[:1])
	s.spec[0].RolloutStrategy.Paused, s.spec[0].RolloutStrategy.FailureStrategy = false, ""
	for _, name := range storyNames {
		groups := s.members[name].groups
		groups[s.spec[0].Name] = s.groups[s.spec[0].Name][0]
		*s.members[name] = member{groups: groups}
	}
	s.generations[s.spec[0].Name]++
	if s.seed%2 == 0 || !s.facts.moved && len(s.set.Spec.PlacementRefs) == 1 {
		s.template("calm")
	}
	s.arrange()
	hash := s.hash(s.t)
	for range 30 {
		for _, key := range s.decidedKeys(s.spec[0].Name) {
			s.approved[hash+s.spec[0].Name+key.String()] = true
		}
		for _, group := range rollout.MandatoryGroups(&s.spec[0].RolloutStrategy.RolloutStrategy) {
			s.passGate(hash, s.spec[0].Name, group)
		}
		for _, name := range storyNames {
			s.pardoned[hash+name] = true
			s.agent(name, healthy, s.now)
		}
		s.pass(6 * time.Minute)
		s.now = s.now.Add(time.Second)
		if s.set.Status.CurrentRevision == hash && !slices.ContainsFunc(storyNames, func(name string) bool { return !s.has(name, hash) }) {
			break
		}
	}
	for _, name := range storyNames {
		if !s.has(name, hash) {
			s.fail("%s has not got the template although nothing holds it", name)
		}
	}
	if s.set.Status.CurrentRevision != hash {
		s.fail("the template has not finished although every cluster succeeded")
	}
	s.failOver(hash)
}

// failOver lets a cluster join a finished rollout that is paused, unapproved and full of failures.
func (s *story) failOver(hash string) {
	s.step++
	s.note("fail-over")
	s.members["h"].drained = true
	s.settled()
	s.agent("h", "", s.now) // its work is gone
	s.paused = true
	clear(s.approved)
	clear(s.passes)
	clear(s.pardoned)
	for i, conditions := range []string{failing, moving, failing} {
		s.agent(storyNames[i], conditions, s.now)
	}
	s.pass(time.Minute)
	s.members["h"].drained = false
	s.settled()
	if !s.has("h", hash) {
		s.fail("h joins and does not get the template that has finished")
	}
}

// storyCount is larger where a planted defect is looked for that few histories show.
var storyCount = flag.Int("stories", stories, "how many random rollouts to follow")

// TestRolloutsGoOnByEvidence follows random rollouts.
func TestRolloutsGoOnByEvidence(t *testing.T) {
	counts := &tally{kinds: map[string]int{}, holds: map[string]int{}}
	all, total := kinds(), 0
	for _, kind := range all {
		total += kind.weight
	}
	for seed := range uint64(*storyCount) {
		passed := t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s := newStory(t, seed, counts)
			s.note("%s", s.refsText())
			s.settled()
			for range shortest + int(seed)%spread {
				s.tick(all, total)
			}
			s.calm()
		})
		if !passed {
			break
		}
	}
	t.Logf("%d steps, %d plans; steps %v; holds %v", counts.steps, counts.plans, counts.kinds, counts.holds)
}
