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
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/rollout"
)

// histories is how many random histories are followed, ticks how many things happen in each.
const histories, ticks = 80, 25

var fleetNames = []string{"a", "b", "c", "d", "e", "f"}

// history is a random history of a state, with the facts that a naive reader of the whole history has.
type history struct {
	*state
	*rand.Rand

	at string
	// selected is what each placement decides: nil where it has no complete decision.
	selected map[string][]string
	// ever lists the placements that ever selected a cluster while it had a work.
	ever map[string]map[string]bool
	// lost are the clusters whose write was stored without a response, until the cache shows it.
	lost map[string]bool
}

func newHistory(t *testing.T, seed uint64) *history {
	r := rand.New(rand.NewPCG(seed, 0x2026))
	strategy := []string{"", progressive, "{type: Progressive, progressive: {maxConcurrency: 2, maxFailures: 100%}}"}[r.IntN(3)]
	h := &history{
		state: newState(t, "p="+strategy, "q="+strategy), Rand: r, selected: map[string][]string{}, ever: map[string]map[string]bool{},
		lost: map[string]bool{},
	}
	h.decide("p")
	h.decide("q")
	return h
}

func (h *history) names() []string {
	var out []string
	for _, name := range fleetNames {
		if h.IntN(2) == 0 {
			out = append(out, name)
		}
	}
	return out
}

// decide draws what a placement decides: mostly a whole decision, sometimes none, a torn one, or no placement.
func (h *history) decide(placement string) {
	names := h.names()
	delete(h.selected, placement)
	switch h.IntN(10) {
	case 0:
		delete(h.placements, placement)
	case 1:
		h.selects(placement, "-")
	case 2:
		h.selects(placement, strings.Join(names, " ")+"|a")
		if !slices.Contains(names, "a") {
			h.selected[placement] = append([]string{"a"}, names...)
		}
	case 3: // slices are missing
		h.selects(placement, strings.Join(names, " "))
		h.placements[placement].Object.Status.NumberOfSelectedClusters++
	default:
		half := h.IntN(len(names) + 1)
		h.selects(placement, strings.Join(names[:half], " ")+"|"+strings.Join(names[half:], " "))
		h.selected[placement] = append([]string{}, names...)
	}
}

// tick changes something.
func (h *history) tick(t *testing.T) {
	h.now = h.now.Add(time.Duration(h.IntN(10)) * time.Minute)
	switch n := h.IntN(20); {
	case n < 3:
		h.decide([]string{"p", "q"}[h.IntN(2)])
	case n < 5:
		h.kept[h.hash(t)] = true
		h.template(fmt.Sprint(h.IntN(3)))
	case n < 6:
		h.set.Labels = map[string]string{"label": fmt.Sprint(h.IntN(3))}
	case n < 8:
		h.frozen = !h.frozen
	case n < 9: // another client edits or deletes a work
		if keys := h.keys(); len(keys) > 0 && h.IntN(2) == 0 {
			work := h.stored[keys[0]].DeepCopy()
			work.Spec.Workload.Manifests, work.Generation = nil, work.Generation+1
			h.store(work, false)
		} else if len(keys) > 0 {
			h.deleteWork(keys[0])
		}
	default:
		frozen, cached := h.frozen, h.cached
		for _, name := range fleetNames {
			if h.IntN(2) == 0 {
				h.agents(t, name, []string{
					"Applied Available Degraded=False Progressing=False", "Applied Progressing",
					"Applied Degraded Progressing",
				}[min(h.IntN(8)/3, 2)], h.now)
			}
		}
		if frozen {
			h.cached = cached
		}
	}
	if !h.frozen {
		h.observe()
		clear(h.lost)
	}
}

func (h *history) keys() []types.NamespacedName {
	keys := slices.Collect(maps.Keys(h.stored))
	slices.SortFunc(keys, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	h.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

// faulty applies the writes of a plan in random order; any of them may fail before it is stored, or after.
func (h *history) faulty(t *testing.T, writes []plan.Write) {
	h.recordUnwritten(writes)
	shuffled := slices.Clone(writes)
	h.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for _, write := range shuffled {
		switch n := h.IntN(20); n {
		case 0: // not sent
		case 1:
			h.faults[write.Cluster] = plan.Fault{
				Hash: h.hash(t), Permanent: h.IntN(2) == 0, Message: "boom", Since: h.now,
				Retry: h.now.Add(5 * time.Minute),
			}
		default:
			if h.apply(write, n > 2) != nil {
				continue
			}
			if delete(h.faults, write.Cluster); n == 2 {
				h.lost[write.Cluster] = true
			}
			h.checkDeletion(t, write)
			h.record(write)
		}
	}
}

// checkDeletion fails unless a decision removed the work that was just deleted.
func (h *history) checkDeletion(t *testing.T, write plan.Write) {
	if write.Verb != plan.Delete {
		return
	}
	for _, placement := range []string{"p", "q"} {
		names, decided := h.selected[placement]
		if slices.Contains(names, write.Cluster) || !decided && h.ever[write.Cluster][placement] {
			t.Errorf("%s: the work of %s goes, but %s decides %v, %t", h.at, write.Cluster, placement, names, decided)
		}
	}
}

// record records which placements select the cluster of a stored write. Of a placement without a complete decision, the last one counts.
func (h *history) record(write plan.Write) {
	if write.Verb == plan.Create || h.ever[write.Cluster] == nil {
		h.ever[write.Cluster] = map[string]bool{}
	}
	for placement, names := range h.selected {
		h.ever[write.Cluster][placement] = slices.Contains(names, write.Cluster)
	}
}

// recordUnwritten records the clusters whose works need no write.
func (h *history) recordUnwritten(writes []plan.Write) {
	for key, work := range h.stored {
		written := slices.ContainsFunc(writes, func(write plan.Write) bool { return write.Cluster == key.Namespace })
		if !written && !h.frozen && len(h.lost) == 0 && work.DeletionTimestamp == nil {
			h.record(plan.Write{Verb: plan.UpdateMetadata, Cluster: key.Namespace})
		}
	}
}

// follow calls check with every plan of random histories, before it is applied with faults.
func follow(t *testing.T, check func(t *testing.T, h *history, out plan.Result)) {
	t.Helper()
	for seed := range uint64(histories) {
		h := newHistory(t, seed)
		for tick := range ticks {
			h.at = fmt.Sprintf("seed %d, tick %d", seed, tick)
			out := plan.Plan(h.input(t))
			check(t, h, out)
			h.faulty(t, out.Writes)
			h.set.Status = out.Status
			h.tick(t)
			if t.Failed() {
				return
			}
		}
	}
}

func TestAPlanWritesEachWorkOnce(t *testing.T) {
	follow(t, func(t *testing.T, h *history, out plan.Result) {
		seen := map[string]bool{}
		for _, write := range out.Writes {
			key := write.Cluster + "/" + write.Name
			if seen[key] {
				t.Errorf("%s: two writes of %s", h.at, key)
			}
			if seen[key] = true; (write.Verb == plan.Create) == (write.UID != "" && write.ResourceVersion != "") {
				t.Errorf("%s: %s of %s is fenced by %q, %q", h.at, write.Verb, key, write.UID, write.ResourceVersion)
			}
		}
	})
}

func TestAPlanDependsOnItsInputAlone(t *testing.T) {
	follow(t, func(t *testing.T, h *history, out plan.Result) {
		in := h.input(t)
		h.Shuffle(len(in.Works), func(i, j int) { in.Works[i], in.Works[j] = in.Works[j], in.Works[i] })
		if diff := cmp.Diff(out, plan.Plan(in), cmpopts.IgnoreUnexported(plan.Write{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: (-first +again):\n%s", h.at, diff)
		}
	})
}

func TestEveryClusterHasOneVerdictAndCountsOnce(t *testing.T) {
	follow(t, func(t *testing.T, h *history, out plan.Result) {
		want := map[string]bool{}
		for _, placement := range h.placements {
			for name := range placement.Decisions.ClusterNames() {
				want[name] = true
			}
		}
		if out.Status.Summary.DesiredTotal != len(want) {
			t.Errorf("%s: %d clusters are desired, want %d", h.at, out.Status.Summary.DesiredTotal, len(want))
		}
		for _, work := range h.input(t).Works {
			want[work.Namespace] = true
		}
		for _, verdict := range out.Verdicts {
			if !want[verdict.Cluster] || verdict.Code == "" || verdict.State != rollout.StateSucceeded && verdict.Message == "" {
				t.Errorf("%s: %+v", h.at, verdict)
			}
			delete(want, verdict.Cluster)
		}
		if len(want) > 0 {
			t.Errorf("%s: no verdict of %v", h.at, want)
		}
		total := 0
		for _, placement := range out.Status.PlacementsSummary {
			total += placement.Summary.Total
		}
		if total != out.Status.Summary.Total {
			t.Errorf("%s: %d works by placement, %d in all", h.at, total, out.Status.Summary.Total)
		}
	})
}

func TestNoMoreClustersStartThanAllowed(t *testing.T) {
	follow(t, func(t *testing.T, h *history, out plan.Result) {
		room := 0
		for _, step := range out.Rollouts {
			room += step.MaxConcurrency
			if len(step.Apply) > 0 && step.InFlight > step.MaxConcurrency {
				t.Errorf("%s: %d of %d in flight under %s", h.at, step.InFlight, step.MaxConcurrency, step.Placement)
			}
		}
		creates, onRecord := 0, map[string]bool{}
		if record := h.set.Status.Rollout; record != nil {
			for _, entry := range record.Clusters {
				onRecord[entry.Name] = true // it started before, and its work is missing
			}
		}
		for _, write := range out.Writes {
			if fault, has := h.faults[write.Cluster]; write.Verb == plan.Create && write.Revision != h.set.Status.CurrentRevision &&
				!onRecord[write.Cluster] && (!has || !fault.Permanent) {
				creates++
			}
		}
		if creates > room {
			t.Errorf("%s: %d clusters start, at most %d may", h.at, creates, room)
		}
	})
}

// calm ends the faults, with whole decisions for a, b, c and d.
func (h *history) calm() {
	h.selects("p", "a b|c")
	h.selects("q", "c d")
	h.selected = map[string][]string{"p": {"a", "b", "c"}, "q": {"c", "d"}}
	clear(h.faults)
	h.frozen, h.forgiven = false, true
}

// settle passes until the rollouts are through. Written then has the writes of one more pass.
func (h *history) settle(t *testing.T) {
	for range 4 * len(fleetNames) {
		h.now = h.now.Add(5 * time.Minute)
		h.observe()
		h.pass(t)
		h.agents(t, strings.Join(fleetNames, " "), healthy, h.now)
	}
	h.written = nil
	h.pass(t)
}

// TestAHubSettles holds that whatever failed before, exactly the selected clusters get the template, and then nothing is written.
func TestAHubSettles(t *testing.T) {
	for seed := range uint64(histories) {
		h := newHistory(t, seed)
		for tick := range ticks {
			h.at = fmt.Sprintf("seed %d, tick %d", seed, tick)
			h.faulty(t, plan.Plan(h.input(t)).Writes)
			h.tick(t)
		}
		h.at = fmt.Sprintf("seed %d, settling", seed)
		h.calm()
		h.settle(t)
		if got := h.clusters(t); got != "a b c d" || len(h.stored) != 4 || len(h.written) != 0 || h.own.Len() != 0 {
			t.Fatalf("%s: %q have the template, %d works, writes %q, %d writes assumed", h.at, got, len(h.stored), h.written, h.own.Len())
		}
		h.expectCondition(t, "PlacementRolledOut", "True", "Complete", "4 of 4 clusters succeeded")
		if diff := cmp.Diff(h.set.Status, plan.Plan(h.input(t)).Status); diff != "" {
			t.Fatalf("%s: the status changes: %s", h.at, diff)
		}
	}
}
