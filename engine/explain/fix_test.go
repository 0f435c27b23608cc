package explain_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
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

// states is the number of random states of each kind.
const states = 100

// TestEveryFixIsProvedAndLeavesNothingOut applies the steps of each fix as a user would, by changing objects.
func TestEveryFixIsProvedAndLeavesNothingOut(t *testing.T) {
	env := enginetest.Env(t)
	fixed, none := 0, map[string]int{}
	for seed := range uint64(states) {
		for kind, w := range map[string]*enginetest.State{
			"plain": enginetest.NewRandom(seed).State(2), "full": enginetest.NewRandom(seed).FullState(2), "ranked": ranked(seed),
		} {
			for _, key := range w.Keys() {
				decide(w, key, env)
				for name, fix := range fixes(w, key, env) {
					at := fmt.Sprintf("%s state %d, %s, %s: %s", kind, seed, key, name, fix)
					if len(fix.Steps) == 0 {
						none[fix.None]++
						continue
					}
					fixed++
					if !selectedAfter(w, key, env, name, fix.Steps) {
						t.Errorf("%s: it does not select the cluster", at)
					}
					for _, part := range parts(w.Placements[key], fix.Steps) {
						if selectedAfter(w, key, env, name, part) {
							t.Errorf("%s: a part selects the cluster already: %s", at, explain.Fix{Steps: part})
						}
					}
				}
			}
		}
	}
	t.Logf("%d fixes; none: %v", fixed, none)
	if fixed < states {
		t.Errorf("only %d fixes were found in %d states: they are too simple", fixed, 2*states)
	}
}

// fixPattern matches the texts of steps: an action, its object and its value.
var fixPattern = regexp.MustCompile(
	`^(label \S+=\S*|remove label \S+|claim \S+=.*|remove claim \S+|bind set \S+ to namespace \S+|add set \S+ to spec\.clusterSets|` +
		`add a (predicate|last tier) that names it in clusterNames|tolerate \S+:\w+|set numberOfClusters to \d+|give prioritizer \S+ weight -?\d+|` +
		`have the provider of AddOnPlacementScore \S+ report \S+=-?\d+ for it|raise maxSkew of the spread over .+ to \d+|` +
		`set failbackPolicy\.stabilizationSeconds to 0|wait until \S+)$`)

// TestEveryFixIsAnAction tests that each step is an action, never a number of points, and that each missing fix has a reason.
func TestEveryFixIsAnAction(t *testing.T) {
	env := enginetest.Env(t)
	seen := map[explain.Action]int{}
	for seed := range uint64(states) {
		for _, w := range []*enginetest.State{enginetest.NewRandom(seed).State(2), enginetest.NewRandom(seed).FullState(2), ranked(seed)} {
			for _, key := range w.Keys() {
				decide(w, key, env)
				for name, fix := range fixes(w, key, env) {
					if len(fix.Steps) == 0 && fix.None == "" {
						t.Errorf("state %d, %s, %s: neither a fix nor a reason", seed, key, name)
					}
					for _, step := range fix.Steps {
						seen[step.Action]++
						if !fixPattern.MatchString(step.Text) || strings.Contains(step.Text, "point") {
							t.Errorf("state %d, %s, %s: %q is no act", seed, key, name, step.Text)
						}
					}
				}
			}
		}
	}
	t.Logf("steps: %v", seen)
	for _, action := range []explain.Action{
		explain.Label, explain.Bind, explain.Tolerate, explain.Admit, explain.SetNumber, explain.SetScore, explain.SetWeight,
	} {
		if seen[action] == 0 {
			t.Errorf("no fix has a step %s: the states are too simple", action)
		}
	}
}

// ranked returns a state whose clusters differ only in two add-on scores, and a placement of some of them.
func ranked(seed uint64) *enginetest.State {
	random := rand.New(rand.NewPCG(seed, 0))
	placement := enginetest.Placement("ns", "p").Obj()
	placement.Spec.NumberOfClusters = new(int32(1 + random.IntN(3)))
	w := enginetest.NewState(enginetest.Set("s").Obj(), placement).Bind("ns", "s")
	for i := range 6 {
		name := fmt.Sprintf("c%d", i)
		w.Add(enginetest.Cluster(name).In("s").Obj())
		w.Add(enginetest.Score(name, "cost").Value("low", int32(random.IntN(201)-100)).Obj())
		w.Add(enginetest.Score(name, "speed").Value("high", int32(random.IntN(201)-100)).Obj())
	}
	for _, score := range []explain.Step{{Key: "AddOn/cost/low", Number: int32(1 + random.IntN(3))}, {Key: "AddOn/speed/high", Number: 1}} {
		weigh(placement, score)
	}
	return w
}

// decide decides a placement and stores the decision.
func decide(w *enginetest.State, key fleet.Key, env *celenv.Env) {
	result := enginetest.DecidePlacement(w.Snapshot(), w.Placements[key], env)
	for _, write := range plan.Diff(result, w.Stored(key), w.Now).Writes {
		w.Apply(write)
	}
}

// fixes returns the fix of every cluster that is not selected.
func fixes(w *enginetest.State, key fleet.Key, env *celenv.Env) map[string]explain.Fix {
	c := explain.Case{Snapshot: w.Snapshot(), Placement: w.Placements[key], Past: plan.ReadLedger(w.Placements[key]), Env: env}
	result := enginetest.DecidePlacement(c.Snapshot, c.Placement, env)
	out := map[string]explain.Fix{}
	for id, cluster := range c.Snapshot.Clusters() {
		if !result.Trace.Verdict(id).Code.IsSelected() {
			out[cluster.Name()] = c.Fix(id)
		}
	}
	return out
}

// parts returns every part of the steps, and the steps with each number reduced by one, unless that is the current
// value.
func parts(p *clusterv1beta1.Placement, steps []explain.Step) [][]explain.Step {
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
		unchanged := step.Action == explain.SetWeight && step.Number-1 == weight(p, step.Key) ||
			step.Action == explain.SetNumber && p.Spec.NumberOfClusters != nil && step.Number-1 == *p.Spec.NumberOfClusters
		if unchanged {
			continue
		}
		if step.Number > 1 || step.Action == explain.SetScore {
			less := slices.Clone(steps)
			less[i].Number--
			out = append(out, less)
		}
	}
	return out
}

func selectedAfter(w *enginetest.State, key fleet.Key, env *celenv.Env, cluster string, steps []explain.Step) bool {
	changed := w.Copy()
	for _, step := range steps {
		takeStep(changed, key, cluster, step)
	}
	result := enginetest.DecidePlacement(changed.Snapshot(), changed.Placements[key], env)
	id, _ := result.Trace.Snapshot.ID(cluster)
	return result.Decided && result.Trace.Verdict(id).Code.IsSelected()
}

// takeStep applies a step to the objects.
func takeStep(w *enginetest.State, key fleet.Key, cluster string, step explain.Step) {
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
	case explain.SetWeight:
		weigh(p, step)
	case explain.SetNumber:
		p.Spec.NumberOfClusters = new(step.Number)
	case explain.Skew:
		p.Spec.SpreadPolicy.SpreadConstraints[step.Index].MaxSkew = step.Number
	case explain.FailBack:
		p.Spec.FailbackPolicy = &clusterv1beta1.FailbackPolicy{StabilizationSeconds: new(int32(0))}
	default:
		p.Generation = generation
		takePlacementStep(w, p, c, step)
	}
}

// takePlacementStep applies a step that does not change the placement.
func takePlacementStep(w *enginetest.State, p *clusterv1beta1.Placement, c *clusterv1.ManagedCluster, step explain.Step) {
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
	case explain.SetScore:
		report(w, c.Name, step)
	}
}

// report changes a score of a cluster, which is valid from then on.
func report(w *enginetest.State, cluster string, step explain.Step) {
	out := enginetest.Score(cluster, step.Key).Value(step.Value, step.Number).Obj()
	if before := w.Scores[enginetest.ScoreKey{Cluster: cluster, Resource: step.Key}]; before != nil {
		for _, item := range before.Status.Scores {
			if item.Name != step.Value {
				out.Status.Scores = append(out.Status.Scores, item)
			}
		}
		if until := before.Status.ValidUntil; until != nil && !until.Time.Before(w.Now) {
			out.Status.ValidUntil = until
		}
	}
	w.Add(out)
}

// coordinate returns the prioritizer of a name.
func coordinate(name string) clusterv1beta1.ScoreCoordinate {
	if parts := strings.SplitN(name, "/", 3); len(parts) == 3 {
		return clusterv1beta1.ScoreCoordinate{
			Type: clusterv1beta1.ScoreCoordinateTypeAddOn, AddOn: &clusterv1beta1.AddOnScore{ResourceName: parts[1], ScoreName: parts[2]},
		}
	}
	return clusterv1beta1.ScoreCoordinate{Type: clusterv1beta1.ScoreCoordinateTypeBuiltIn, BuiltIn: name}
}

// listed returns the position of a prioritizer in a placement; -1 if it is not listed.
func listed(p *clusterv1beta1.Placement, name string) int {
	of := coordinate(name)
	return slices.IndexFunc(p.Spec.PrioritizerPolicy.Configurations, func(config clusterv1beta1.PrioritizerConfig) bool {
		found := config.ScoreCoordinate
		return found.BuiltIn == of.BuiltIn && (of.AddOn == nil) == (found.AddOn == nil) && (of.AddOn == nil || *found.AddOn == *of.AddOn)
	})
}

// weight returns the weight of a prioritizer.
func weight(p *clusterv1beta1.Placement, name string) int32 {
	at := listed(p, name)
	if at < 0 || p.Spec.PrioritizerPolicy.Configurations[at].Weight == nil {
		return 1
	}
	return *p.Spec.PrioritizerPolicy.Configurations[at].Weight
}

// weigh sets the weight of a prioritizer.
func weigh(p *clusterv1beta1.Placement, step explain.Step) {
	policy := &p.Spec.PrioritizerPolicy
	if at := listed(p, step.Key); at >= 0 {
		policy.Configurations[at].Weight = new(step.Number)
		return
	}
	of := coordinate(step.Key)
	policy.Configurations = append(policy.Configurations, clusterv1beta1.PrioritizerConfig{ScoreCoordinate: &of, Weight: new(step.Number)})
}

// TestAClusterWithoutAFixHasAReason tests the reasons for clusters without a fix.
func TestAClusterWithoutAFixHasAReason(t *testing.T) {
	env := enginetest.Env(t)
	for name, tc := range map[string]struct {
		placement *enginetest.PlacementBuilder
		cluster   *enginetest.ClusterBuilder
		want      string
	}{
		"a cluster that is being deleted": {
			enginetest.Placement("ns", "p"), enginetest.Cluster("c").In("s").Terminating(),
			"it is being deleted",
		},
		"a cluster that is selected": {enginetest.Placement("ns", "p"), enginetest.Cluster("c").In("s"), "it is selected"},
	} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.NewState(enginetest.Set("s").Obj(), tc.placement.Obj(), tc.cluster.Obj()).Bind("ns", "s")
			key := enginetest.OnlyPlacement(t, w)
			decide(w, key, env)
			c := explain.Case{Snapshot: w.Snapshot(), Placement: w.Placements[key], Past: plan.ReadLedger(w.Placements[key]), Env: env}
			id, _ := c.Snapshot.ID("c")
			if got := c.Fix(id); got.None != tc.want {
				t.Errorf("fix %q, want none: %s", got, tc.want)
			}
		})
	}
}

// TestAFixNamesNoHiddenSet also covers a set that has the cluster, and a bound set.
func TestAFixNamesNoHiddenSet(t *testing.T) {
	env := enginetest.Env(t)
	key := fleet.Key{Namespace: "ns", Name: "p"}
	w := enginetest.NewState(enginetest.Placement(key.Namespace, key.Name).Obj(), enginetest.Set("hidden").Obj(),
		enginetest.Cluster("c").In("hidden").Obj())
	bound := enginetest.NewState(enginetest.Placement(key.Namespace, key.Name).Obj(), enginetest.Set("hidden").Obj(),
		enginetest.Cluster("c").Obj()).
		Bind(key.Namespace, "hidden")
	for name, tc := range map[string]struct {
		visible func(string) bool
		want    string
	}{
		"all sets visible": {nil, "hidden"},
		"no set visible":   {func(string) bool { return false }, "none: there is no visible ManagedClusterSet that it could be in"},
	} {
		for kind, w := range map[string]*enginetest.State{"with the cluster": w, "bound": bound} {
			t.Run(name+", "+kind, func(t *testing.T) {
				c := explain.Case{Snapshot: w.Snapshot(), Placement: w.Placements[key], Env: env, SetVisible: tc.visible}
				id, _ := c.Snapshot.ID("c")
				got := c.Fix(id).String()
				if !strings.Contains(got, tc.want) || tc.visible != nil && strings.Contains(got, "hidden") {
					t.Errorf("the fix is %q, want one of %q", got, tc.want)
				}
			})
		}
	}
}
