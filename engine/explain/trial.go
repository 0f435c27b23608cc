package explain

import (
	"slices"
	"strings"
	"time"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/program"
)

// Case is a placement and the fleet that it chooses from, as they are once its last decision is stored.
type Case struct {
	Snapshot  *fleet.Snapshot
	Placement *clusterv1beta1.Placement
	// Past is what the placement remembers, as plan.ReadLedger reads it.
	Past ledger.Ledger
	Env  *celenv.Env
	// SetVisible says which sets fixes may name; nil stands for all.
	SetVisible func(set string) bool
}

// addOnPrefix begins the names of prioritizers by add-on scores.
const addOnPrefix = "AddOn/"

// trial is a case in which steps are made for one cluster.
type trial struct {
	edit      *fleet.Edit
	cluster   *clusterv1.ManagedCluster
	placement *clusterv1beta1.Placement
	now       time.Time
	// scores are those that add-ons report of the cluster, by resource.
	scores func(resource string) *fleet.Score
	// reworked says that the spec was changed, which is the user's own doing: no removal is held back then.
	reworked bool
}

// plainly returns a placement without what has no say in who is selected: the groups, unless an expression in them may keep
// everything from being decided, and the order of what is shown.
func plainly(placement *clusterv1beta1.Placement) *clusterv1beta1.Placement {
	out := placement.DeepCopy()
	out.Spec.SortBy, out.Spec.ScoreRateLimit = "", ""
	evaluates := func(group clusterv1beta1.DecisionGroup) bool {
		return len(group.ClusterSelector.CelSelector.CelExpressions) > 0
	}
	if !slices.ContainsFunc(out.Spec.DecisionStrategy.GroupStrategy.DecisionGroups, evaluates) {
		out.Spec.DecisionStrategy = clusterv1beta1.DecisionStrategy{}
	}
	return out
}

// run decides the case after some steps for one cluster. Where they make a spec that does not compile, nothing is decided.
func (c Case) run(cluster string, steps []Step) *engine.Result {
	id, _ := c.Snapshot.ID(cluster)
	t := &trial{
		edit: c.Snapshot.Edit(), now: c.Snapshot.Now,
		cluster: c.Snapshot.Cluster(id).Object.DeepCopy(), placement: c.Placement.DeepCopy(),
		scores: func(resource string) *fleet.Score { return c.Snapshot.Score(id, resource) },
	}
	for _, step := range steps {
		t.take(step)
	}
	t.edit.SetCluster(fleet.NewCluster(t.cluster))
	compiled, faults := program.Compile(t.placement, c.Env)
	past := c.Past
	past.SameSpec = past.SameSpec && !t.reworked
	key := fleet.Key{Namespace: c.Placement.Namespace, Name: c.Placement.Name}
	return engine.Decide(t.edit.Snapshot().At(t.now), key, compiled, faults, past)
}

// report changes a score of the cluster, as its provider would: the other scores stay, and what was out of date is not any more.
func (t *trial) report(step Step) {
	out := &fleet.Score{Resource: step.Key}
	if before := t.scores(step.Key); before != nil {
		out.Items = slices.DeleteFunc(slices.Clone(before.Items), func(item clusterv1alpha1.AddOnPlacementScoreItem) bool {
			return item.Name == step.Value
		})
		if !before.Expired(t.now) {
			out.ValidUntil = before.ValidUntil
		}
	}
	out.Items = append(out.Items, clusterv1alpha1.AddOnPlacementScoreItem{Name: step.Value, Value: step.Number})
	t.edit.SetScore(t.cluster.Name, out)
	earlier := t.scores
	t.scores = func(resource string) *fleet.Score {
		if resource == step.Key {
			return out
		}
		return earlier(resource)
	}
}

// take makes one step.
func (t *trial) take(step Step) {
	switch step.Action {
	case Label:
		if t.cluster.Labels == nil {
			t.cluster.Labels = map[string]string{}
		}
		t.cluster.Labels[step.Key] = step.Value
	case Unlabel:
		delete(t.cluster.Labels, step.Key)
	case Claim, Unclaim:
		t.claim(step)
	case SetScore:
		t.report(step)
	case Bind:
		t.edit.Bind(t.placement.Namespace, step.Value)
	case Wait:
		t.now = *step.At
	default:
		t.rework(step)
	}
}

// claim gives the cluster a claim, or takes it away.
func (t *trial) claim(step Step) {
	t.cluster.Status.ClusterClaims = slices.DeleteFunc(t.cluster.Status.ClusterClaims, func(c clusterv1.ManagedClusterClaim) bool {
		return c.Name == step.Key
	})
	if step.Action == Claim {
		t.cluster.Status.ClusterClaims = append(t.cluster.Status.ClusterClaims,
			clusterv1.ManagedClusterClaim{Name: step.Key, Value: step.Value})
	}
}

// rework makes a step that changes the spec of the placement.
func (t *trial) rework(step Step) {
	t.reworked = true
	spec := &t.placement.Spec
	named := clusterv1beta1.ClusterSelector{ClusterNames: []string{t.cluster.Name}}
	switch step.Action {
	case Include:
		spec.ClusterSets = append(spec.ClusterSets, step.Value)
	case Admit:
		spec.Predicates = append(spec.Predicates, clusterv1beta1.ClusterPredicate{RequiredClusterSelector: named})
	case AddTier:
		spec.Tiers = append(spec.Tiers, clusterv1beta1.ClusterTier{Name: unusedTier(spec.Tiers), ClusterSelector: named})
	case Tolerate:
		spec.Tolerations = append(spec.Tolerations, clusterv1beta1.Toleration{
			Key: step.Key, Operator: clusterv1beta1.TolerationOpEqual, Value: step.Value, Effect: clusterv1.TaintEffect(step.Effect),
		})
	case Ask:
		spec.NumberOfClusters = new(step.Number)
	case SetWeight:
		weigh(&spec.PrioritizerPolicy, step.Key, step.Number)
	case Skew:
		spec.SpreadPolicy.SpreadConstraints[step.Index].MaxSkew = step.Number
	case FailBack:
		spec.FailbackPolicy = nil
	default:
		panic("explain: a step without an effect: " + string(step.Action))
	}
}

// weigh gives a prioritizer a weight, where it is listed or at the end of the list.
func weigh(policy *clusterv1beta1.PrioritizerPolicy, name string, weight int32) {
	coordinate := coordinateOf(name)
	for i, config := range policy.Configurations {
		if config.ScoreCoordinate != nil && nameOf(*config.ScoreCoordinate) == name {
			policy.Configurations[i].Weight = new(weight)
			return
		}
	}
	policy.Configurations = append(policy.Configurations, clusterv1beta1.PrioritizerConfig{ScoreCoordinate: &coordinate, Weight: new(weight)})
}

// nameOf returns the name of a prioritizer as program.Prioritizer has it.
func nameOf(in clusterv1beta1.ScoreCoordinate) string {
	if in.AddOn != nil {
		return addOnPrefix + in.AddOn.ResourceName + "/" + in.AddOn.ScoreName
	}
	return in.BuiltIn
}

// coordinateOf returns the prioritizer of a name.
func coordinateOf(name string) clusterv1beta1.ScoreCoordinate {
	if coordinate, ok := strings.CutPrefix(name, addOnPrefix); ok {
		resource, score, _ := strings.Cut(coordinate, "/") // no resource has a slash in its name
		return clusterv1beta1.ScoreCoordinate{
			Type: clusterv1beta1.ScoreCoordinateTypeAddOn, AddOn: &clusterv1beta1.AddOnScore{ResourceName: resource, ScoreName: score},
		}
	}
	return clusterv1beta1.ScoreCoordinate{Type: clusterv1beta1.ScoreCoordinateTypeBuiltIn, BuiltIn: name}
}

// unusedTier returns a name that no tier has.
func unusedTier(tiers []clusterv1beta1.ClusterTier) string {
	name := "more"
	for slices.ContainsFunc(tiers, func(tier clusterv1beta1.ClusterTier) bool { return tier.Name == name }) {
		name += "-more"
	}
	return name
}
