package delivery

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/delivery/plan"
)

const (
	// historySteps is the number of steps of a history, slowHistorySteps of one of make slow.
	historySteps, slowHistorySteps = 20, 200
	// killedEvery is in how many steps the manager is killed once, on average; slowKilledEvery is that of a history of make slow.
	killedEvery, slowKilledEvery = 5, 10
	// concurrent and tolerated are the maxConcurrency and the maxFailures of the rollouts.
	concurrent, tolerated = 2, 0
	// recordInterval is between two records of the manager of a history. stillness is how long nothing is written once it has done what
	// follows from a step; it plans twice in that time, so that a busy machine is waited for.
	recordInterval, stillness = 100 * time.Millisecond, 300 * time.Millisecond
	// leastRevisions and mostRevisions bound the number of kept templates.
	leastRevisions, mostRevisions = 10, 100

	healthyReport, failedReport = "Applied Available Progressing=False Degraded=False", "Applied Available=False Progressing=False Degraded"
)

var historySeed = flag.Uint64("seed", 0, "the seed of the histories; 0 is their own")

// history is a random history of rollouts on a hub, with the facts from which a naive reader judges each start. The first group of the
// decision is mandatory.
type history struct {
	*testFleet
	*rand.Rand
	set     *workv1alpha1.ManifestWorkReplicaSet
	control *rolloutv1alpha1.RolloutControl
	manager *hubtest.Manager
	// groups are the decision.
	groups [2][]string
	// version is the template, newest the newest one, and finished the one of the last finished rollout.
	version, newest, finished int
	// canaries are the clusters of the mandatory group when the template was written, or the first that joins it then.
	canaries []string
	passed   bool
	facts    map[string]*fact
	// versions are those of the works at the end of the last step.
	versions map[string]int
	log      []string
}

// fact is what was seen of a cluster with the present template.
type fact struct{ succeeded, failed, lost, forgiven bool }

// counts reports whether the cluster counts for maxFailures.
func (f *fact) counts() bool { return (f.failed || f.lost) && !f.forgiven }

func (f *fact) inFlight() bool { return !f.succeeded && !f.failed && !f.lost }

// TestRolloutHistory plays a random history of rollouts: no cluster starts that may not, and each selected cluster has a work.
func TestRolloutHistory(t *testing.T) { playHistory(t, historySteps, killedEvery, 1) }

// playHistory plays the history of a seed, or of that of the command line.
func playHistory(t *testing.T, steps, killed int, seed uint64) {
	t.Helper()
	if *historySeed != 0 {
		seed = *historySeed
	}
	t.Logf("repeat the run with -seed %d", seed)
	h := newHistory(t, seed)
	actions := []struct {
		name   string
		weight int
		do     func(*history)
	}{
		{"a cluster succeeds", 10, func(h *history) { h.report(healthyReport) }},
		{"a cluster fails", 3, func(h *history) { h.report(failedReport) }},
		{"a cluster leaves", 3, (*history).leave},
		{"a cluster joins", 4, (*history).join},
		{"the template changes", 3, (*history).newVersion},
		{"the template returns to the last finished one", 1, func(h *history) { h.write(h.finished) }},
		{"a person pauses", 1, func(h *history) { h.pause(true) }},
		{"a person resumes", 4, func(h *history) { h.pause(false) }},
		{"a person forgives", 2, (*history).forgive},
		{"a person passes the mandatory group", 1, (*history).pass},
		{"the file is applied again", 1, func(h *history) { h.change(h.set, func(*workv1alpha1.ManifestWorkReplicaSet) {}) }},
		{"the manager is killed", 1, func(*history) {}},
	}
	total := 0
	for _, action := range actions {
		total += action.weight
	}
	for number := range steps {
		draw := h.IntN(total)
		for _, action := range actions {
			if draw -= action.weight; draw < 0 {
				h.note("step %d: %s", number, action.name)
				action.do(h)
				break
			}
		}
		if h.IntN(killed) == 0 {
			h.manager.Kill()
			h.note("the manager is killed")
			h.start()
		}
		h.check()
	}
}

// newHistory returns a history whose first template has finished.
func newHistory(t *testing.T, seed uint64) *history {
	t.Helper()
	h := &history{testFleet: newFleet(t, 7), Rand: rand.New(rand.NewPCG(seed, 0)), version: 1, newest: 1, facts: map[string]*fact{}}
	h.groups = [2][]string{h.clusters[:2], h.clusters[2:5]}
	h.decideGroups()
	h.start()
	h.set = h.newSet("web", fmt.Sprintf(
		"p={type: Progressive, progressive: {maxConcurrency: %d, maxFailures: %d, mandatoryDecisionGroups: [{groupIndex: 0}]}}", concurrent,
		tolerated))
	h.canaries = h.groups[0]
	h.control = &rolloutv1alpha1.RolloutControl{ObjectMeta: metav1.ObjectMeta{Namespace: h.set.Namespace, Name: h.set.Name}}
	h.MustCreate(h.control)
	for h.finished != h.version {
		h.await()
		for _, cluster := range h.selected() {
			if h.versions[cluster] == h.version && h.facts[cluster] == nil {
				h.reportOf(cluster, healthyReport)
			}
		}
		h.see()
	}
	return h
}

// start starts a manager.
func (h *history) start() {
	h.manager = startManager(h.t, "--rollout-status-interval="+recordInterval.String())
}

func (h *history) note(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

func (h *history) fail(format string, args ...any) {
	h.t.Helper()
	h.t.Fatalf(format+"\nthe decision is %v; the history:\n%s", append(args, h.groups, strings.Join(h.log, "\n"))...)
}

func (h *history) selected() []string { return slices.Concat(h.groups[0], h.groups[1]) }

func (h *history) decideGroups() { h.decide("p", h.groups[0], h.groups[1]) }

// draw returns a random cluster for which a condition holds, or "".
func (h *history) draw(of []string, holds func(cluster string) bool) string {
	of = slices.DeleteFunc(slices.Clone(of), func(cluster string) bool { return !holds(cluster) })
	if len(of) == 0 {
		return ""
	}
	return of[h.IntN(len(of))]
}

// report lets the agent of a cluster with the template report; mostly of one in flight.
func (h *history) report(conditions string) {
	of := h.draw(h.selected(), func(cluster string) bool {
		return h.facts[cluster] != nil && h.versions[cluster] == h.version && (h.facts[cluster].inFlight() || h.IntN(8) == 0)
	})
	if of != "" {
		h.note("  %s: %s", of, conditions)
		h.reportOf(of, conditions)
	}
}

// reportOf writes the report of a cluster, and what follows for it.
func (h *history) reportOf(cluster, conditions string) {
	work := kit.Work(cluster, plan.WorkName(h.set.Namespace, h.set.Name))
	agent := h.agent(cluster)
	h.Await("the agent has reported", func(ctx context.Context) error {
		if err := h.Get(ctx, client.ObjectKeyFromObject(work), work); err != nil {
			return err
		}
		return report(ctx, agent, work, conditions)
	})
	known := h.facts[cluster]
	if known == nil {
		known = &fact{}
		h.facts[cluster] = known
	}
	if conditions == healthyReport {
		*known = fact{succeeded: true}
	} else {
		*known = fact{failed: true, forgiven: known.forgiven}
	}
}

// leave takes a cluster out of the decision, mostly one in flight.
func (h *history) leave() {
	of := h.draw(h.selected(), func(cluster string) bool {
		return len(h.selected()) > 2 && (h.facts[cluster] != nil && h.facts[cluster].inFlight() || h.IntN(3) == 0)
	})
	for i := range h.groups {
		h.groups[i] = slices.DeleteFunc(slices.Clone(h.groups[i]), func(cluster string) bool { return cluster == of })
	}
	if known := h.facts[of]; known != nil && !known.succeeded && h.version != h.finished {
		known.lost = true
	}
	h.note("  %s leaves", of)
	h.decideGroups()
}

func (h *history) join() {
	of := h.draw(h.clusters, func(cluster string) bool { return !slices.Contains(h.selected(), cluster) })
	if of == "" {
		return
	}
	group := h.IntN(len(h.groups))
	h.groups[group] = append(slices.Clone(h.groups[group]), of)
	slices.Sort(h.groups[group])
	if group == 0 && len(h.canaries) == 0 { // a group without a cluster has nothing to prove with, until one joins
		h.canaries = []string{of}
	}
	h.note("  %s joins group %d", of, group)
	h.releaseIn(h.set, []string{of})
	h.decideGroups()
}

// write writes a template. It begins a rollout unless it has finished.
func (h *history) write(version int) {
	if version == h.version {
		return
	}
	h.change(h.set, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		set.Spec.ManifestWorkTemplate.Workload = manifests(strconv.Itoa(version))
	})
	h.version, h.facts, h.passed, h.canaries = version, map[string]*fact{}, false, h.groups[0]
	h.note("  version %d", version)
}

// newVersion writes a new template, mostly once the present one has finished.
func (h *history) newVersion() {
	if h.version == h.finished || h.IntN(4) == 0 {
		h.newest++
		h.write(h.newest)
	}
}

// revision returns the hash of a template.
func (h *history) revision(version int) string {
	h.t.Helper()
	return kit.Must(plan.TemplateHash(&workv1.ManifestWorkSpec{Workload: manifests(strconv.Itoa(version))})).In(h.t)
}

func (h *history) decideBeside(change func(*rolloutv1alpha1.RolloutControlSpec)) {
	h.AwaitChanged(h.control, func() { change(&h.control.Spec) })
}

func (h *history) pause(paused bool) {
	h.decideBeside(func(decided *rolloutv1alpha1.RolloutControlSpec) { decided.Paused = paused })
}

func (h *history) forgive() {
	of := h.draw(h.clusters, func(cluster string) bool { return h.facts[cluster] != nil && h.facts[cluster].counts() })
	if of == "" {
		return
	}
	revision := h.revision(h.version)
	h.decideBeside(func(decided *rolloutv1alpha1.RolloutControlSpec) {
		decided.Forgiven = append(decided.Forgiven, rolloutv1alpha1.ForgivenCluster{Cluster: of, Revision: revision, Reason: "a test"})
	})
	h.facts[of].forgiven = true
	h.note("  %s is forgiven", of)
}

func (h *history) pass() {
	revision := h.revision(h.version)
	h.decideBeside(func(decided *rolloutv1alpha1.RolloutControlSpec) {
		passed := rolloutv1alpha1.GroupApproval{Placement: "p", Revision: revision, For: rolloutv1alpha1.ApprovalProof}
		decided.Approvals = append(decided.Approvals, passed)
	})
	h.passed = true
}

// await waits until the manager has planned two later changes of the set with nothing written between them, and reads the works.
func (h *history) await() {
	h.t.Helper()
	for last := ""; ; {
		now := h.plan()
		if now == last {
			return
		}
		last = now
		time.Sleep(stillness)
	}
}

// plan changes the set, waits until the manager has planned the change, and reads the works. It returns their versions and what the manager
// has on record.
func (h *history) plan() string {
	h.t.Helper()
	h.change(h.set, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		limit := ptr.Deref(set.Spec.RevisionHistoryLimit, mostRevisions) + 1
		if limit > mostRevisions {
			limit = leastRevisions
		}
		set.Spec.RevisionHistoryLimit = &limit
	})
	h.Await("the manager has planned", func(ctx context.Context) error {
		if err := h.Get(ctx, client.ObjectKeyFromObject(h.set), h.set); err != nil {
			return err
		}
		planned := meta.FindStatusCondition(h.set.Status.Conditions, workv1alpha1.Progressing)
		if planned == nil || planned.ObservedGeneration != h.set.Generation {
			return errNotYet
		}
		return nil
	})
	works := kit.Must(h.works(h.t.Context(), h.set)).In(h.t)
	h.versions = map[string]int{}
	var out strings.Builder
	for i := range works {
		fmt.Fprint(&out, works[i].Namespace, works[i].ResourceVersion, " ")
		if works[i].DeletionTimestamp.IsZero() {
			h.versions[works[i].Namespace] = versionOf(&works[i])
		}
	}
	if record := h.set.Status.Rollout.DeepCopy(); record != nil {
		record.ObservedTime = metav1.MicroTime{}
		out.Write(kit.Must(json.Marshal(record)).In(h.t))
	}
	return out.String()
}

// versionOf returns the template of a work, as manifests wrote it.
func versionOf(work *workv1.ManifestWork) int {
	_, text, _ := strings.Cut(string(work.Spec.Workload.Manifests[0].Raw), `"value":"`)
	text, _, _ = strings.Cut(text, `"`)
	out, _ := strconv.Atoi(text) // 0 is no version
	return out
}

// see records which clusters have started, and whether the rollout has finished.
func (h *history) see() {
	for cluster, version := range h.versions {
		if version == h.version && h.facts[cluster] == nil {
			h.facts[cluster] = &fact{}
		}
	}
	record := h.set.Status.Rollout
	ended := record != nil && record.Revision == h.revision(h.version) && record.FinishedTime != nil
	if h.finished != h.version && ended {
		for _, cluster := range h.selected() {
			if known := h.facts[cluster]; known == nil || !known.succeeded && !known.counts() && !known.forgiven {
				h.fail("the rollout of version %d has finished, and %s has not reported", h.version, cluster)
			}
		}
		h.finished = h.version
	}
}

// proven reports whether the mandatory group lets other groups start. A cluster that leaves it before its start is no part of the proof.
func (h *history) proven() bool {
	succeeded := false
	for _, cluster := range h.canaries {
		known := h.facts[cluster]
		if known == nil && slices.Contains(h.groups[0], cluster) || known != nil && !known.succeeded && !known.forgiven {
			return h.passed
		}
		succeeded = succeeded || known != nil && known.succeeded
	}
	return succeeded || h.passed
}

// check waits until the manager has done what follows from a step, and fails if it did what it may not.
func (h *history) check() {
	h.t.Helper()
	before := h.versions
	h.await()
	h.note("  works: %v", h.versions)
	for _, cluster := range h.selected() {
		if h.versions[cluster] == 0 {
			h.fail("%s is selected and has no work", cluster)
		}
		if version := h.versions[cluster]; version != h.version && version != h.finished && version != before[cluster] {
			h.fail("%s has got version %d, neither the template nor the last finished one", cluster, version)
		}
		if h.versions[cluster] != h.version || h.facts[cluster] != nil && !h.facts[cluster].lost || h.version == h.finished {
			continue
		}
		again := h.facts[cluster] != nil
		h.facts[cluster] = &fact{}
		h.checkStart(cluster, again)
	}
	h.see()
	if h.finished > 0 && !h.keeps(h.finished) {
		h.fail("version %d of the last finished rollout is not kept", h.finished)
	}
}

// keeps reports whether a template is kept.
func (h *history) keeps(version int) bool {
	h.t.Helper()
	list := &appsv1.ControllerRevisionList{}
	h.MustList(list, client.InNamespace(h.namespace))
	return slices.ContainsFunc(list.Items, func(revision appsv1.ControllerRevision) bool {
		return plan.RevisionHash(h.set, &revision) == h.revision(version)
	})
}

// checkStart fails if a cluster that has started may not. A lost cluster that returns may start again while a breach holds the others; a
// canary also from another group, since it is a part of the proof.
func (h *history) checkStart(cluster string, again bool) {
	h.t.Helper()
	failures, flying := 0, 0
	for _, known := range h.facts {
		if known.counts() {
			failures++
		}
		if known.inFlight() {
			flying++
		}
	}
	switch {
	case flying > concurrent:
		h.fail("%s has started, and %d clusters are in flight, at most %d", cluster, flying, concurrent)
	case failures > tolerated && !again:
		h.fail("%s has started, and %d clusters have failed or are lost, at most %d", cluster, failures, tolerated)
	case h.control.Spec.Paused:
		h.fail("%s has started, and the rollout is paused", cluster)
	case !slices.Contains(h.groups[0], cluster) && (!again || !slices.Contains(h.canaries, cluster)) && !h.proven():
		h.fail("%s has started, and the mandatory group has not proven version %d", cluster, h.version)
	}
}
