package plan_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	"github.com/berth-project/berth/internal/addon/plan"
	"github.com/berth-project/berth/internal/kube/evidence"
)

// histories is how many random histories are followed, ticks how many things happen in each.
const histories, ticks = 150, 40

// history is a random history of a state, with the facts that a naive reader of the whole history has.
type history struct {
	*state
	*rand.Rand

	at string
	// selected is what each placement decides: nil where it has no complete decision. read is what its slices have.
	selected, read map[string][]string
}

func newHistory(t *testing.T, seed uint64) *history {
	r := rand.New(rand.NewPCG(seed, 0x2036))
	strategy := []string{"", oneByOne, "{type: Progressive, progressive: {maxConcurrency: 2, maxFailures: 100%}}"}[r.IntN(3)]
	h := &history{state: newState(t, "p="+strategy, "q="+strategy), Rand: r, selected: map[string][]string{}, read: map[string][]string{}}
	h.decide("p")
	h.decide("q")
	return h
}

// decide draws what a placement decides: mostly a whole decision, sometimes none, a torn one, one with a mistake, or no placement.
func (h *history) decide(placement string) {
	var names []string
	for _, name := range fleetNames {
		if h.IntN(2) == 0 {
			names = append(names, name)
		}
	}
	delete(h.selected, placement)
	h.read[placement] = names
	switch h.IntN(12) {
	case 0:
		delete(h.placements, types.NamespacedName{Namespace: space, Name: placement})
		h.read[placement] = nil
	case 1:
		h.selects(placement, "-")
		h.read[placement] = nil
	case 2:
		h.selects(placement, strings.Join(names, " ")+"|a") // "a" may be in two slices
		if h.read[placement] = append(slices.Clone(names), "a"); !slices.Contains(names, "a") {
			h.selected[placement] = h.read[placement]
		}
	case 3: // slices are missing
		h.selects(placement, strings.Join(names, " ")).Status.NumberOfSelectedClusters++
	case 4: // the decision is on an earlier spec
		h.selects(placement, strings.Join(names, " ")).Generation++
	case 5: // another scheduler emptied the decision of a placement with a mistake
		object := h.selects(placement, "")
		object.Status.Conditions = append(object.Status.Conditions,
			metav1.Condition{Type: "PlacementMisconfigured", Status: metav1.ConditionTrue, ObservedGeneration: 1})
		h.read[placement] = nil
	default:
		half := h.IntN(len(names) + 1)
		h.selects(placement, strings.Join(names[:half], " ")+"|"+strings.Join(names[half:], " "))
		h.selected[placement] = append([]string{}, names...)
	}
}

// tick changes something.
func (h *history) tick() {
	h.now = h.now.Add(time.Duration(h.IntN(60)) * time.Second)
	name := fleetNames[h.IntN(len(fleetNames))]
	switch n := h.IntN(24); {
	case n < 4:
		h.decide([]string{"p", "q"}[h.IntN(2)])
	case n < 7:
		h.configs[[]string{"base", "special", "own"}[h.IntN(3)]] = []string{"1", "2", "3", ""}[h.IntN(4)]
	case n < 9:
		h.frozen = !h.frozen
	case n < 10:
		if h.stored[name] == nil {
			h.byHand(name, [][]string{nil, {"own"}}[h.IntN(2)]...)
		}
	case n < 11: // a user deletes an add-on
		delete(h.stored, name)
	case n < 12:
		if h.clusters[name].DeletionTimestamp != nil {
			h.clusters[name].DeletionTimestamp = nil
		} else {
			h.clusters[name].DeletionTimestamp = new(metav1.NewTime(h.now))
		}
	case n < 13:
		if h.clusters[name].Annotations != nil {
			h.clusters[name].Annotations = nil
		} else {
			h.clusters[name].Annotations = map[string]string{addonv1alpha1.DisableInstallationAnnotation: ""}
		}
	case n < 14:
		kinds := []addonv1alpha1.InstallStrategyType{addonv1alpha1.AddonInstallStrategyManual, addonv1alpha1.AddonInstallStrategyPlacements}
		h.addOn.Spec.InstallStrategy.Type = kinds[min(1, h.IntN(4))]
	default:
		for _, name := range fleetNames {
			if n := h.IntN(6); n < 4 {
				h.reports(name, n > 0)
			}
		}
	}
	h.observe()
}

// faulty applies the writes of a plan in random order; any of them may fail before it is stored, or after.
func (h *history) faulty(t *testing.T, writes []plan.Write) {
	shuffled := slices.Clone(writes)
	h.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for _, write := range shuffled {
		before := h.stored[write.Cluster]
		switch n := h.IntN(20); n {
		case 0: // not sent
		case 1:
			h.faults[write.Cluster] = evidence.Fault{
				Hash: write.Hash, Permanent: h.IntN(2) == 0, Message: "boom", Since: h.now,
				Retry: h.now.Add(time.Minute),
			}
		default:
			if h.apply(write, n > 2) == nil {
				delete(h.faults, write.Cluster)
				h.check(t, write, before)
			}
		}
	}
}

// check fails unless decisions and owners allow the write that was just stored.
func (h *history) check(t *testing.T, write plan.Write, before *addonv1alpha1.ManagedClusterAddOn) {
	cluster := h.clusters[write.Cluster]
	_, disabled := cluster.Annotations[addonv1alpha1.DisableInstallationAnnotation]
	byPlacements := h.addOn.Spec.InstallStrategy.Type == addonv1alpha1.AddonInstallStrategyPlacements
	if cluster.DeletionTimestamp != nil {
		t.Errorf("%s: %s in %s, which is being deleted", h.at, write.Verb, write.Cluster)
	}
	switch write.Verb {
	case plan.Create:
		selected := slices.Contains(h.read["p"], write.Cluster) || slices.Contains(h.read["q"], write.Cluster)
		if !byPlacements || disabled || !selected {
			t.Errorf("%s: installed on %s, placements %t, disabled %t, selected %t", h.at, write.Cluster, byPlacements, disabled, selected)
		}
	case plan.Delete:
		for _, placement := range []string{"p", "q"} {
			if names := h.selected[placement]; names == nil || slices.Contains(names, write.Cluster) {
				t.Errorf("%s: removed from %s, but %s decides %v", h.at, write.Cluster, placement, names)
			}
		}
		recent := 0
		for _, at := range h.removals {
			if h.now.Sub(at) < time.Minute {
				recent++
			}
		}
		if !byPlacements || disabled || !plan.Controls(h.addOn, before) || recent > 1 {
			t.Errorf("%s: removed from %s, placements %t, disabled %t, owners %v, %d removals within a minute", h.at, write.Cluster, byPlacements,
				disabled, before.OwnerReferences, recent)
		}
	case plan.UpdateStatus:
		if hash := desired(h.stored[write.Cluster]); hash == "" && desired(before) != "" {
			t.Errorf("%s: %s has nothing to reach any more", h.at, write.Cluster)
		}
	default:
	}
}

// wanted returns what a naive reader expects a cluster to reach; ok is false for a cluster that is not selected.
func (h *history) wanted(cluster string) (hash string, ok bool) {
	hash = h.configs["base"]
	inQ := slices.Contains(h.selected["q"], cluster)
	if inQ {
		hash = h.configs["special"]
	}
	if object := h.stored[cluster]; object != nil && len(object.Spec.Configs) > 0 {
		hash = h.configs["own"]
	}
	return hash, inQ || slices.Contains(h.selected["p"], cluster)
}

// checkPace fails if the step of a placement starts more clusters than its strategy allows.
func (h *history) checkPace(t *testing.T, out plan.Result) {
	for i, step := range out.Rollouts {
		strategy := h.addOn.Spec.InstallStrategy.Placements[i].RolloutStrategy
		if strategy.Progressive == nil {
			continue
		}
		if limit := strategy.Progressive.MaxConcurrency.IntValue(); len(step.Apply) > limit {
			t.Errorf("%s: %d clusters start at once, at most %d may", h.at, len(step.Apply), limit)
		}
	}
}

// TestRandomHistories holds that no history removes or installs an add-on without a decision, and that every history ends with the add-on
// exactly on the selected clusters, each with its configuration, once decisions are complete and the add-ons succeed.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(histories) {
		h := newHistory(t, seed)
		for tick := range ticks {
			h.at = fmt.Sprintf("seed %d, tick %d", seed, tick)
			out := plan.Plan(h.input())
			h.checkPace(t, out)
			h.faulty(t, out.Writes)
			if h.IntN(3) > 0 {
				h.addOn.Status = out.Status
			}
			h.tick()
			if t.Failed() {
				return
			}
		}
		h.end(t)
		if t.Failed() {
			return
		}
	}
}

// end corrects every mistake and follows the history until nothing changes.
func (h *history) end(t *testing.T) {
	h.frozen = false
	h.observe()
	clear(h.faults)
	for _, cluster := range h.clusters {
		cluster.DeletionTimestamp, cluster.Annotations = nil, nil
	}
	maps.Copy(h.configs, map[string]string{"base": "b", "special": "s", "own": "o"})
	h.addOn.Spec.InstallStrategy.Type = addonv1alpha1.AddonInstallStrategyPlacements
	h.selected = map[string][]string{"p": {"a", "b"}, "q": {"b", "c"}}
	h.selects("p", "a|b")
	h.selects("q", "b c")
	h.at += ", at the end"
	for range 60 {
		h.now = h.now.Add(3 * time.Minute)
		out := h.pass(t)
		for _, write := range out.Writes {
			if write.Verb == plan.Delete && slices.Contains([]string{"a", "b", "c"}, write.Cluster) {
				t.Errorf("%s: removed from %s", h.at, write.Cluster)
			}
		}
		for _, name := range fleetNames {
			h.reports(name, true)
		}
		h.observe()
	}
	for _, name := range fleetNames {
		want, selected := h.wanted(name)
		object := h.stored[name]
		switch {
		case object == nil && selected, object != nil && !selected && plan.Controls(h.addOn, object):
			t.Errorf("%s: %s is selected %t, and the add-on is there %t", h.at, name, selected, object != nil)
		case object != nil && desired(object) != want:
			t.Errorf("%s: %s has to reach %q, want %q", h.at, name, desired(object), want)
		}
	}
	before := h.addOn.Status
	if out := h.pass(t); len(out.Writes) > 0 {
		t.Errorf("%s: the plan of a settled hub writes %v", h.at, out.Writes)
	}
	if diff := cmp.Diff(before, h.addOn.Status, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: the status of a settled hub changes (-before +after):\n%s", h.at, diff)
	}
	for _, progression := range h.addOn.Status.InstallProgressions {
		condition, reference := progression.Conditions[0], progression.ConfigReferences[0]
		if condition.Reason != "Completed" || reference.LastKnownGoodConfig == nil || *reference.LastKnownGoodConfig != *reference.DesiredConfig {
			t.Errorf("%s: %s: %s (%s), last known good %v, want %v", h.at, progression.Name, condition.Reason, condition.Message,
				reference.LastKnownGoodConfig, reference.DesiredConfig)
		}
	}
}
