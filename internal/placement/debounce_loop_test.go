package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
)

// rankedPlacement returns a placement that selects the cluster with the best score.
func rankedPlacement(name string) *clusterv1beta1.Placement {
	return enginetest.Placement("ns", name).Number(1).Mode(clusterv1beta1.PrioritizerPolicyModeExact).AddOn("load", "cpu", 1).Obj()
}

// startRankedLoop starts a loop with a placement that ranks three clusters by scores. c00 has the best score. Events are delivered at
// once.
func startRankedLoop(t *testing.T) (*fakeHub, *loop, fleet.Key) {
	t.Helper()
	h := newSimpleHub(t, 3)
	h.putScore("c00", 10)
	p := rankedPlacement("p")
	h.putPlacement(p)
	l := startLoop(t, h)
	l.drain()
	h.writes = nil
	return h, l, keyOf(p)
}

func TestScoresInABurstCauseOneEvaluation(t *testing.T) {
	h, l, key := startRankedLoop(t)
	for i, value := range []int32{20, 30, 40} {
		l.advance(quietPeriod - time.Millisecond)
		h.putScore(fmt.Sprintf("c%02d", i%2+1), value)
		l.drain()
	}
	if len(h.writes) > 0 {
		t.Errorf("wrote %v within the quiet period", h.writes)
	}
	l.advance(quietPeriod)
	l.drain()
	if got := h.clusters(key); !slices.Equal(got, []string{"c01"}) || len(h.writes) != 1 {
		t.Errorf("selected %v by the writes %v, want c01 by one write", got, h.writes)
	}
	history, err := l.record.History(key, h.clock.Now(), "", func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	score := func(cluster string) explain.Cause {
		return explain.Cause{Kind: "AddOnPlacementScore", Namespace: cluster, Name: "load", What: "changed"}
	}
	if diff := cmp.Diff([]explain.Cause{score("c01"), score("c02")}, history.Changes[0].Causes); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

// TestScoresAtTheStartAreNotDebounced restarts the manager after a score that it has not evaluated.
func TestScoresAtTheStartAreNotDebounced(t *testing.T) {
	h, _, key := startRankedLoop(t)
	h.putScore("c01", 20)
	startLoop(t, h).drain()
	if got := h.clusters(key); !slices.Equal(got, []string{"c01"}) {
		t.Errorf("selected %v, want c01", got)
	}
}

// TestOtherChangesDecidePendingScores changes a score, and then something that is not debounced.
func TestOtherChangesDecidePendingScores(t *testing.T) {
	for sentence, news := range map[string]func(*fakeHub, *clusterv1beta1.Placement){
		"a spec": func(h *fakeHub, p *clusterv1beta1.Placement) {
			p.Spec.NumberOfClusters = new(int32(2))
			h.putPlacement(p)
		},
		"a cluster": func(h *fakeHub, _ *clusterv1beta1.Placement) { h.deleteCluster("c00") },
		"an external write": func(h *fakeHub, p *clusterv1beta1.Placement) {
			p.Status = clusterv1beta1.PlacementStatus{}
			h.putPlacement(p)
		},
		"another scheduler decides the placement for a while": func(h *fakeHub, p *clusterv1beta1.Placement) {
			left := p.DeepCopy()
			left.Annotations = map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"}
			h.putPlacement(left)
			h.putPlacement(p)
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			h, l, key := startRankedLoop(t)
			h.putScore("c01", 20)
			l.drain()
			news(h, h.stored.Placements[key].DeepCopy())
			l.drain()
			if got := h.clusters(key); !slices.Contains(got, "c01") {
				t.Errorf("selected %v, want c01 at once", got)
			}
			if waitingKeys(l.scores) > 0 {
				t.Error("the placement waits for scores that it has evaluated")
			}
		})
	}
}

// TestAFailureLosesNoScore lets an evaluation of scores fail, while the next score changes.
func TestAFailureLosesNoScore(t *testing.T) {
	h, l, key := startRankedLoop(t)
	h.putScore("c01", 20)
	l.drain()
	l.advance(quietPeriod)
	h.fault = func() fault { return writeRefused }
	h.betweenWrites = func() {
		h.betweenWrites = func() {}
		h.putScore("c02", 30)
		h.deliver(0, l.informed)
	}
	l.reconcileOne(key)
	if !l.queued[key] || waitingKeys(l.scores) != 1 {
		t.Errorf("queued %v, %d wait: want the failed evaluation queued and the later score waiting", l.queued, waitingKeys(l.scores))
	}
	h.fault = func() fault { return writeOK }
	l.drain()
	if got := h.clusters(key); !slices.Equal(got, []string{"c02"}) {
		t.Errorf("selected %v, want c02", got)
	}
}

// TestScoresUnderRandomInterruptions drives placements that rank by scores alone through random histories: scores and clusters
// change, informers lag, writes fail in every way, other clients write, time passes, the process restarts. After all events are
// delivered and the quiet period is over, the stored decisions equal a single decision on the stored facts.
func TestScoresUnderRandomInterruptions(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { randomScoreHistory(t, seed) })
	}
}

func randomScoreHistory(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 13))
	h := newSimpleHub(t, 5)
	for i := range 3 {
		h.putPlacement(rankedPlacement(fmt.Sprintf("p%d", i)))
	}
	l := startLoop(t, h)
	h.fault = func() fault {
		if random.IntN(5) == 0 {
			return fault(1 + random.IntN(3))
		}
		return writeOK
	}
	h.betweenWrites = func() {
		if random.IntN(3) == 0 {
			h.putScore(fmt.Sprintf("c%02d", random.IntN(5)), random.Int32N(100))
		}
		h.deliver(random.IntN(3), l.informed)
	}
	for range 100 {
		switch n := random.IntN(100); {
		case n < 25:
			h.deliver(random.IntN(3), l.informed)
		case n < 50 && len(l.queued) > 0:
			l.reconcileOne(l.queuedKeys()[random.IntN(len(l.queued))])
		case n < 75:
			h.putScore(fmt.Sprintf("c%02d", random.IntN(5)), random.Int32N(100))
		case n < 90:
			l.advance(time.Duration(random.Int64N(int64(quietPeriod))))
		case n < 92:
			l = startLoop(t, h)
		case n < 95:
			externalWrite(random, h)
		default:
			h.collectGarbage()
		}
		if waiting := waitingKeys(l.scores); waiting > 3 {
			t.Fatalf("%d placements wait, of 3", waiting)
		}
	}
	h.fault, h.betweenWrites = func() fault { return writeOK }, func() {}
	h.collectGarbage()
	l.drain()
	l.advance(maxScoreDelay)
	l.drain()
	if err := l.pendingWrites(); err != nil {
		t.Fatal(err)
	}
	if waiting := waitingKeys(l.scores); waiting > 0 {
		t.Fatalf("%d placements still wait", waiting)
	}
}
