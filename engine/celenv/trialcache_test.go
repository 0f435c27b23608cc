package celenv_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
)

// TestTrialCacheChangesNoOutcome evaluates subjects that differ in one thing each, in turn and twice, with and without
// the trial cache.
func TestTrialCacheChangesNoOutcome(t *testing.T) {
	env := enginetest.Env(t)
	trials := env.ForTrials()
	load := func(cpu int32) *fleet.Score {
		return fleet.NewScore(enginetest.Score("c", "load").Value("cpu", cpu).ValidUntil(enginetest.Epoch).Obj())
	}
	prod := fleet.NewCluster(enginetest.Cluster("c").Label("env", "prod").Obj())
	dev := fleet.NewCluster(enginetest.Cluster("c").Label("env", "dev").Obj())
	low, high := load(10), load(90)
	on := func(cluster *fleet.Cluster, score *fleet.Score, now time.Time) celenv.Subject {
		return celenv.Subject{Cluster: cluster, Now: now, Score: func(string) *fleet.Score { return score }}
	}
	subjects := []celenv.Subject{
		on(prod, low, enginetest.Epoch), on(dev, low, enginetest.Epoch), on(prod, high, enginetest.Epoch),
		on(prod, nil, enginetest.Epoch), on(prod, high, enginetest.Epoch.Add(1)),
	}
	for _, text := range []string{
		`managedCluster.metadata.labels["env"] == "prod"`,
		`managedCluster.scores("load").exists(s, s.value > 50)`,
		`managedCluster.scores("load").size() == managedCluster.scores("more").size()`,
		`managedCluster.scores(managedCluster.metadata.labels["env"]).exists(s, s.value > 50)`,
		`managedCluster.metadata.labels["none"] == "1"`,
	} {
		t.Run(text, func(t *testing.T) {
			plain, err := env.Compile(text)
			if err != nil {
				t.Fatal(err)
			}
			kept, err := trials.Compile(text)
			if err != nil {
				t.Fatal(err)
			}
			for round := range 2 {
				for i, subject := range subjects {
					if diff := cmp.Diff(plain.Eval(subject), kept.Eval(subject)); diff != "" {
						t.Errorf("round %d, subject %d (-want +got):\n%s", round, i, diff)
					}
				}
			}
		})
	}
	if _, err := trials.Compile("unknown == 1"); err == nil {
		t.Error("a trial Env must return compilation errors, too")
	}
}

// TestTrialCacheIsBounded evaluates two expressions of one Env on more clusters than the limit.
func TestTrialCacheIsBounded(t *testing.T) {
	env := enginetest.Env(t).ForTrialsAtMost(3)
	kept := 0
	for _, text := range []string{`managedCluster.metadata.name == "a"`, `managedCluster.metadata.name != "a"`} {
		expression, err := env.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b", "a", "b"} {
			subject := celenv.Subject{Cluster: fleet.NewCluster(enginetest.Cluster(name).Obj())}
			if got, want := expression.Eval(subject), expression.EvalAllFacets(subject); got.Answer != want.Answer {
				t.Errorf("%s on %s: answer %v, want %v", text, name, got.Answer, want.Answer)
			}
		}
		kept += expression.CachedOutcomes()
	}
	if kept != 3 {
		t.Errorf("%d outcomes are cached, want 3", kept)
	}
}
