package celenv_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
)

// TestAClusterIsEvaluatedAgainOnceAFieldThatIsReadChanges evaluates two states of one cluster, one after the other.
func TestAClusterIsEvaluatedAgainOnceAFieldThatIsReadChanges(t *testing.T) {
	first := enginetest.Cluster("c").Label("env", "prod").CPU("1")
	for name, tc := range map[string]struct {
		text string
		next *clusterv1.ManagedCluster
		// evaluated is how often the cluster is evaluated. answers are the outcomes.
		evaluated int
		answers   []celenv.Answer
	}{
		"nothing changes": {
			`managedCluster.metadata.labels.env == "prod"`, first.Obj(), 1, []celenv.Answer{celenv.Yes, celenv.Yes},
		},
		"something else changes": {
			`managedCluster.metadata.labels.env == "prod"`, enginetest.Cluster("c").Label("env", "prod").CPU("2").Obj(),
			1,
			[]celenv.Answer{celenv.Yes, celenv.Yes},
		},
		"what it reads changes": {
			`managedCluster.metadata.labels.env == "prod"`, enginetest.Cluster("c").Label("env", "dev").CPU("1").Obj(),
			2,
			[]celenv.Answer{celenv.Yes, celenv.No},
		},
		"a quantity is written another way": {
			`managedCluster.status.allocatable.cpu == "1"`, enginetest.Cluster("c").Label("env", "prod").CPU("1e0").Obj(),
			2,
			[]celenv.Answer{celenv.Yes, celenv.No},
		},
		"one of two that it reads changes": {
			`managedCluster.metadata.labels.env == "prod" && managedCluster.spec.hubAcceptsClient`,
			enginetest.Cluster("c").Label("env", "dev").CPU("1").Obj(), 2,
			[]celenv.Answer{celenv.Yes, celenv.No},
		},
		"scores are read each time": {
			`managedCluster.scores("load").size() == 1`, first.Obj(), 2, []celenv.Answer{celenv.Yes, celenv.Yes},
		},
	} {
		t.Run(name, func(t *testing.T) {
			expression, err := enginetest.Env(t).Compile(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			evaluated := 0
			var answers []celenv.Answer
			s := fleet.Empty()
			for _, object := range []*clusterv1.ManagedCluster{first.Obj(), tc.next} {
				object.Spec.HubAcceptsClient = true
				e := s.Edit()
				e.SetCluster(fleet.NewCluster(object))
				s = e.Snapshot()
				id, _ := s.ID("c")
				run := expression.Run(s)
				answers = append(answers, run.Eval(id, func() celenv.Subject {
					evaluated++
					out := subject()
					out.Cluster = s.Cluster(id)
					return out
				}).Answer)
				run.Store()
			}
			if diff := cmp.Diff(tc.answers, answers); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
			if evaluated != tc.evaluated {
				t.Errorf("the cluster was evaluated %d times, want %d", evaluated, tc.evaluated)
			}
		})
	}
}

// TestOutcomesOfOneFleetAreNotUsedForAnother gives one ID to clusters of two fleets.
func TestOutcomesOfOneFleetAreNotUsedForAnother(t *testing.T) {
	expression, err := enginetest.Env(t).Compile(`managedCluster.metadata.labels.env == "prod"`)
	if err != nil {
		t.Fatal(err)
	}
	for env, want := range map[string]celenv.Answer{"prod": celenv.Yes, "dev": celenv.No} {
		e := fleet.Empty().Edit()
		e.SetCluster(fleet.NewCluster(enginetest.Cluster("c").Label("env", env).Obj()))
		s := e.Snapshot()
		run := expression.Run(s)
		if got := run.Eval(0, func() celenv.Subject { return celenv.Subject{Cluster: s.Cluster(0)} }).Answer; got != want {
			t.Errorf("%s: answer %v, want %v", env, got, want)
		}
		run.Store()
	}
}
