package explain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// worlds is how many random worlds are looked at, of each kind.
const worlds = 100

// TestEveryFixIsProvedAndLeavesNothingOut makes the steps of each fix as a user would, by changing objects.
func TestEveryFixIsProvedAndLeavesNothingOut(t *testing.T) {
	env := enginetest.Env(t)
	fixed, none := 0, map[string]int{}
	for seed := range uint64(worlds) {
		for kind, w := range map[string]*enginetest.World{
			"plain": enginetest.NewRandom(seed).World(2), "full": enginetest.NewRandom(seed).FullWorld(2),
		} {
			for _, key := range w.Keys() {
				decide(w, key, env)
				for name, fix := range fixes(w, key, env) {
					at := fmt.Sprintf("%s world %d, %s, %s: %s", kind, seed, key, name, fix)
					if len(fix.Steps) == 0 {
						none[fix.None]++
						continue
					}
					fixed++
					if !selectedAfter(w, key, env, name, fix.Steps) {
						t.Errorf("%s: it does not select the cluster", at)
					}
					for _, part := range parts(fix.Steps) {
						if selectedAfter(w, key, env, name, part) {
							t.Errorf("%s: a part selects the cluster already: %s", at, explain.Fix{Steps: part})
						}
					}
				}
			}
		}
	}
	t.Logf("%d fixes; none: %v", fixed, none)
	if fixed < worlds {
		t.Errorf("only %d fixes were found in %d worlds: they ask too little", fixed, 2*worlds)
	}
}

// decide decides a placement and stores the decision.
func decide(w *enginetest.World, key fleet.Key, env *celenv.Env) {
	result := enginetest.Answer(w.Snapshot(), w.Placements[key], env)
	for _, write := range plan.Diff(result, w.Stored(key), w.Now).Writes {
		w.Apply(write)
	}
}

// fixes returns the fix of every cluster that is not selected.
func fixes(w *enginetest.World, key fleet.Key, env *celenv.Env) map[string]explain.Fix {
	c := explain.Case{Snapshot: w.Snapshot(), Placement: w.Placements[key], Past: plan.ReadLedger(w.Placements[key]), Env: env}
	result := enginetest.Answer(c.Snapshot, c.Placement, env)
	out := map[string]explain.Fix{}
	for id, cluster := range c.Snapshot.Clusters() {
		if !result.Trace.Verdict(id).Code.In() {
			out[cluster.Name()] = c.Fix(id)
		}
	}
	return out
}

// parts returns steps without each one of them, and with each number one less.
func parts(steps []explain.Step) [][]explain.Step {
	var out [][]explain.Step
	for part := range 1<<len(steps) - 1 {
		var kept []explain.Step
		for i, step := range steps {
			if part&(1<<i) != 0 {
				kept = append(kept, step)
			}
		}
		out = append(out, kept)
	}
	for i, step := range steps {
		if step.Number > 1 {
			less := slices.Clone(steps)
			less[i].Number--
			out = append(out, less)
		}
	}
	return out
}

func selectedAfter(w *enginetest.World, key fleet.Key, env *celenv.Env, cluster string, steps []explain.Step) bool {
	changed := w.Copy()
	for _, step := range steps {
		take(changed, key, cluster, step)
	}
	result := enginetest.Answer(changed.Snapshot(), changed.Placements[key], env)
	id, _ := result.Trace.Snapshot.ID(cluster)
	return result.Decided && result.Trace.Verdict(id).Code.In()
}

// take makes a step by changing objects.
func take(w *enginetest.World, key fleet.Key, cluster string, step explain.Step) {
	c, p := w.Clusters[cluster].DeepCopy(), w.Placements[key].DeepCopy()
	w.Clusters[cluster], w.Placements[key] = c, p
	named := clusterv1beta1.ClusterSelector{ClusterNames: []string{cluster}}
	generation := p.Generation
	p.Generation++
	switch step.Action {
	case explain.Include:
		p.Spec.ClusterSets = append(p.Spec.ClusterSets, step.Value)
	case explain.Admit:
		p.Spec.Predicates = append(p.Spec.Predicates, clusterv1beta1.ClusterPredicate{RequiredClusterSelector: named})
	case explain.AddTier:
		p.Spec.Tiers = append(p.Spec.Tiers, clusterv1beta1.ClusterTier{Name: "the-last-one", ClusterSelector: named})
	case explain.Tolerate:
		p.Spec.Tolerations = append(p.Spec.Tolerations, clusterv1beta1.Toleration{
			Key: step.Key, Value: step.Value, Effect: clusterv1.TaintEffect(step.Effect), Operator: clusterv1beta1.TolerationOpEqual,
		})
	case explain.Ask:
		p.Spec.NumberOfClusters = new(step.Number)
	case explain.Skew:
		p.Spec.SpreadPolicy.SpreadConstraints[step.Index].MaxSkew = step.Number
	case explain.FailBack:
		p.Spec.FailbackPolicy.StabilizationSeconds = new(int32(0))
	default:
		p.Generation = generation
		takeElsewhere(w, p, c, step)
	}
}

// takeElsewhere makes a step that leaves the placement as it is.
func takeElsewhere(w *enginetest.World, p *clusterv1beta1.Placement, c *clusterv1.ManagedCluster, step explain.Step) {
	drop := func(claim clusterv1.ManagedClusterClaim) bool { return claim.Name == step.Key }
	switch step.Action { //nolint:exhaustive // the others change the placement
	case explain.Label:
		if c.Labels == nil {
			c.Labels = map[string]string{}
		}
		c.Labels[step.Key] = step.Value
	case explain.Unlabel:
		delete(c.Labels, step.Key)
	case explain.Claim:
		c.Status.ClusterClaims = append(slices.DeleteFunc(c.Status.ClusterClaims, drop),
			clusterv1.ManagedClusterClaim{Name: step.Key, Value: step.Value})
	case explain.Unclaim:
		c.Status.ClusterClaims = slices.DeleteFunc(c.Status.ClusterClaims, drop)
	case explain.Bind:
		w.Bind(p.Namespace, step.Value)
	case explain.Wait:
		w.Now = *step.At
	case explain.Points:
		score(w, p, c.Name, int(step.Number))
	}
}

// score gives a cluster points by add-on scores that the placement ranks by, each of them at most 10 times 100.
func score(w *enginetest.World, p *clusterv1beta1.Placement, cluster string, points int) {
	for i := 0; points > 0; i++ {
		weight, value := 1, min(points, 100)
		if points >= 1000 {
			weight, value = 10, 100
		}
		points -= weight * value
		resource := fmt.Sprintf("points-%d", i)
		w.Add(enginetest.Score(cluster, resource).Value("points", int32(value)).Obj())
		p.Spec.PrioritizerPolicy.Configurations = append(p.Spec.PrioritizerPolicy.Configurations, clusterv1beta1.PrioritizerConfig{
			Weight: new(int32(weight)),
			ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{
				Type: clusterv1beta1.ScoreCoordinateTypeAddOn, AddOn: &clusterv1beta1.AddOnScore{ResourceName: resource, ScoreName: "points"},
			},
		})
	}
}

// TestWhatCannotBeFixedSaysWhy holds the answers for clusters that no change of them or of the placement selects.
func TestWhatCannotBeFixedSaysWhy(t *testing.T) {
	env := enginetest.Env(t)
	for name, tc := range map[string]struct {
		placement *enginetest.PlacementBuilder
		cluster   *enginetest.ClusterBuilder
		want      string
	}{
		"a cluster that is being deleted": {enginetest.Placement("ns", "p"), enginetest.Cluster("c").In("s").Terminating(), "it is being deleted"},
		"a cluster that is selected":      {enginetest.Placement("ns", "p"), enginetest.Cluster("c").In("s"), "it is selected"},
	} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.NewWorld(enginetest.Set("s").Obj(), tc.placement.Obj(), tc.cluster.Obj()).Bind("ns", "s")
			key := enginetest.Only(t, w)
			decide(w, key, env)
			c := explain.Case{Snapshot: w.Snapshot(), Placement: w.Placements[key], Past: plan.ReadLedger(w.Placements[key]), Env: env}
			id, _ := c.Snapshot.ID("c")
			if got := c.Fix(id); got.None != tc.want {
				t.Errorf("fix %q, want none: %s", got, tc.want)
			}
		})
	}
}

// TestAFixNamesNoSetThatIsNotSeen, also where the cluster is in that set.
func TestAFixNamesNoSetThatIsNotSeen(t *testing.T) {
	env := enginetest.Env(t)
	key := fleet.Key{Namespace: "ns", Name: "p"}
	w := enginetest.NewWorld(enginetest.Placement(key.Namespace, key.Name).Obj(), enginetest.Set("hidden").Obj(),
		enginetest.Cluster("c").In("hidden").Obj())
	c := explain.Case{Snapshot: w.Snapshot(), Placement: w.Placements[key], Env: env}
	id, _ := c.Snapshot.ID("c")
	for name, tc := range map[string]struct {
		sees func(string) bool
		want string
	}{
		"who sees all":     {nil, "hidden"},
		"who sees nothing": {func(string) bool { return false }, "none: there is no ManagedClusterSet to be seen that it could be in"},
	} {
		t.Run(name, func(t *testing.T) {
			c.SeesSet = tc.sees
			got := c.Fix(id).String()
			if !strings.Contains(got, tc.want) || tc.sees != nil && strings.Contains(got, "hidden") {
				t.Errorf("the fix is %q, want one of %q", got, tc.want)
			}
		})
	}
}
