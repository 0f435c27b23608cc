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

// ranked is a placement of the one cluster with the best score.
func ranked(name string) *clusterv1beta1.Placement {
	return enginetest.Placement("ns", name).Number(1).Mode(clusterv1beta1.PrioritizerPolicyModeExact).AddOn("load", "cpu", 1).Obj()
}

// ranking starts a loop with a placement that ranks three clusters by scores, of which c00 has the best, and shows it news
// as they come.
func ranking(t *testing.T) (*hub, *loop, fleet.Key) {
	t.Helper()
	h := simple(t, 3)
	h.putScore("c00", 10)
	p := ranked("p")
	h.putPlacement(p)
	l := startLoop(t, h)
	l.rest()
	h.writes = nil
	return h, l, keyOf(p)
}

func TestScoresThatTrickleInAreOneEvaluation(t *testing.T) {
	h, l, key := ranking(t)
	for i, value := range []int32{20, 30, 40} {
		l.pass(quiet - time.Millisecond)
		h.putScore(fmt.Sprintf("c%02d", i%2+1), value)
		l.rest()
	}
	if len(h.writes) > 0 {
		t.Errorf("wrote %v before the scores were quiet", h.writes)
	}
	l.pass(quiet)
	l.rest()
	if got := h.clusters(key); !slices.Equal(got, []string{"c01"}) || len(h.writes) != 1 {
		t.Errorf("selected %v by the writes %v, want c01 by one", got, h.writes)
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

// TestScoresThatCountAtTheStartAreNotGathered restarts the manager after a score that it has not answered.
func TestScoresThatCountAtTheStartAreNotGathered(t *testing.T) {
	h, _, key := ranking(t)
	h.putScore("c01", 20)
	startLoop(t, h).rest()
	if got := h.clusters(key); !slices.Equal(got, []string{"c01"}) {
		t.Errorf("selected %v, want c01", got)
	}
}

// TestOtherNewsAnswerScores lets a score change, and then something that cannot wait.
func TestOtherNewsAnswerScores(t *testing.T) {
	for sentence, news := range map[string]func(*hub, *clusterv1beta1.Placement){
		"a spec": func(h *hub, p *clusterv1beta1.Placement) {
			p.Spec.NumberOfClusters = new(int32(2))
			h.putPlacement(p)
		},
		"a cluster": func(h *hub, _ *clusterv1beta1.Placement) { h.dropCluster("c00") },
		"a stranger": func(h *hub, p *clusterv1beta1.Placement) {
			p.Status = clusterv1beta1.PlacementStatus{}
			h.putPlacement(p)
		},
		"it is left to others, and not any more": func(h *hub, p *clusterv1beta1.Placement) {
			left := p.DeepCopy()
			left.Annotations = map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"}
			h.putPlacement(left)
			h.putPlacement(p)
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			h, l, key := ranking(t)
			h.putScore("c01", 20)
			l.rest()
			news(h, h.stored.Placements[key].DeepCopy())
			l.rest()
			if got := h.clusters(key); !slices.Contains(got, "c01") {
				t.Errorf("selected %v, want c01 at once", got)
			}
			if waiting(l.scores) > 0 {
				t.Error("it waits still for what it has answered")
			}
		})
	}
}

// TestAFailureLosesNoScore lets the evaluation fail that answers scores, while the next score comes.
func TestAFailureLosesNoScore(t *testing.T) {
	h, l, key := ranking(t)
	h.putScore("c01", 20)
	l.rest()
	l.pass(quiet)
	h.fault = func() fault { return refused }
	h.meanwhile = func() {
		h.meanwhile = func() {}
		h.putScore("c02", 30)
		h.deliver(0, l.world)
	}
	l.decideOne(key)
	if !l.awake[key] || waiting(l.scores) != 1 {
		t.Errorf("awake %v, %d wait: want that what failed is tried again, and that what came since waits", l.awake, waiting(l.scores))
	}
	h.fault = func() fault { return fine }
	l.rest()
	if got := h.clusters(key); !slices.Equal(got, []string{"c02"}) {
		t.Errorf("selected %v, want c02", got)
	}
}

// TestScoresWhateverIsInterrupted drives placements that rank by scores alone through random histories: scores and clusters
// change, informers lag, writes fail in every way, strangers meddle, time passes, the process restarts. Once all is delivered
// and the scores are quiet, everything is as a single look at the hub says it must be.
func TestScoresWhateverIsInterrupted(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { scoredHistory(t, seed) })
	}
}

func scoredHistory(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 13))
	h := simple(t, 5)
	for i := range 3 {
		h.putPlacement(ranked(fmt.Sprintf("p%d", i)))
	}
	l := startLoop(t, h)
	h.fault = func() fault {
		if random.IntN(5) == 0 {
			return fault(1 + random.IntN(3))
		}
		return fine
	}
	h.meanwhile = func() {
		if random.IntN(3) == 0 {
			h.putScore(fmt.Sprintf("c%02d", random.IntN(5)), random.Int32N(100))
		}
		h.deliver(random.IntN(3), l.world)
	}
	for range 100 {
		switch n := random.IntN(100); {
		case n < 25:
			h.deliver(random.IntN(3), l.world)
		case n < 50 && len(l.awake) > 0:
			l.decideOne(l.waking()[random.IntN(len(l.awake))])
		case n < 75:
			h.putScore(fmt.Sprintf("c%02d", random.IntN(5)), random.Int32N(100))
		case n < 90:
			l.pass(time.Duration(random.Int64N(int64(quiet))))
		case n < 92:
			l = startLoop(t, h)
		case n < 95:
			meddle(random, h)
		default:
			h.collect()
		}
		if waiting := waiting(l.scores); waiting > 3 {
			t.Fatalf("%d wait of 3 placements", waiting)
		}
	}
	h.fault, h.meanwhile = func() fault { return fine }, func() {}
	h.collect()
	l.rest()
	l.pass(longest)
	l.rest()
	if err := l.unsettled(); err != nil {
		t.Fatal(err)
	}
	if waiting := waiting(l.scores); waiting > 0 {
		t.Fatalf("%d wait still", waiting)
	}
}
