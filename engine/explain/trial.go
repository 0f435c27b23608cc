package explain

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/program"
)

// Case is a placement and its fleet after the last decision was stored.
type Case struct {
	Snapshot  *fleet.Snapshot
	Placement *clusterv1beta1.Placement
	// Past is the ledger that plan.ReadLedger reads.
	Past ledger.Ledger
	Env  *celenv.Env
	// SetVisible reports whether a fix may name a set; nil allows all sets.
	SetVisible func(set string) bool
}

// addedTier is the name of the tier that AddTier adds.
const addedTier = "added-by-a-fix"

// trial is a case with steps applied for one cluster.
type trial struct {
	Case

	edit    *fleet.Edit
	cluster *clusterv1.ManagedCluster
}

// newTrial returns the case without steps.
func (c Case) newTrial(cluster string) *trial {
	id, _ := c.Snapshot.ID(cluster)
	t := &trial{Case: c, edit: c.Snapshot.Edit(), cluster: c.Snapshot.Cluster(id).Object.DeepCopy()}
	t.Placement = c.Placement.DeepCopy()
	return t
}

// run decides the case with steps for one cluster. An invalid spec decides nothing. A change of the spec drops clusters at once.
func (c Case) run(cluster string, steps []Step) *engine.Result {
	t := c.newTrial(cluster)
	now := c.Snapshot.Now
	for _, step := range steps {
		t.take(step)
		if step.Action == Wait {
			now = *step.At
		}
	}
	t.edit.SetCluster(fleet.NewCluster(t.cluster))
	compiled, faults := program.Compile(t.Placement, c.Env)
	t.Past.SameSpec = c.Past.SameSpec && equality.Semantic.DeepEqual(t.Placement.Spec, c.Placement.Spec)
	key := fleet.Key{Namespace: c.Placement.Namespace, Name: c.Placement.Name}
	return engine.Decide(t.edit.Snapshot().At(now), key, compiled, faults, t.Past)
}

// take makes one step and returns its text.
func (t *trial) take(s Step) string { //nolint:funlen // one case for each kind of step
	spec := &t.Placement.Spec
	named := clusterv1beta1.ClusterSelector{ClusterNames: []string{t.cluster.Name}}
	switch s.Action {
	case Label:
		metav1.SetMetaDataLabel(&t.cluster.ObjectMeta, s.Key, s.Value)
		return "label " + s.Key + "=" + s.Value
	case Unlabel:
		delete(t.cluster.Labels, s.Key)
		return "remove label " + s.Key
	case Claim:
		t.claim(s, clusterv1.ManagedClusterClaim{Name: s.Key, Value: s.Value})
		return "claim " + s.Key + "=" + s.Value
	case Unclaim:
		t.claim(s)
		return "remove claim " + s.Key
	case SetScore:
		t.report(s)
		return fmt.Sprintf("have the provider of AddOnPlacementScore %s report %s=%d for it", s.Key, s.Value, s.Number)
	case Bind:
		t.edit.Bind(t.Placement.Namespace, s.Value)
		return "bind set " + s.Value + " to namespace " + t.Placement.Namespace
	case Include:
		spec.ClusterSets = append(spec.ClusterSets, s.Value)
		return "add set " + s.Value + " to spec.clusterSets"
	case Admit:
		spec.Predicates = append(spec.Predicates, clusterv1beta1.ClusterPredicate{RequiredClusterSelector: named})
		return "add a predicate that names it in clusterNames"
	case AddTier:
		spec.Tiers = append(spec.Tiers, clusterv1beta1.ClusterTier{Name: addedTier, ClusterSelector: named})
		return "add a last tier that names it in clusterNames"
	case Tolerate:
		spec.Tolerations = append(spec.Tolerations, clusterv1beta1.Toleration{
			Key: s.Key, Operator: clusterv1beta1.TolerationOpEqual, Value: s.Value, Effect: clusterv1.TaintEffect(s.Effect),
		})
		return "tolerate " + TaintText(s.Key, s.Value, s.Effect)
	case SetNumber:
		spec.NumberOfClusters = new(s.Number)
		return fmt.Sprintf("set numberOfClusters to %d", s.Number)
	case SetWeight:
		weigh(&spec.PrioritizerPolicy, s.by, s.Number)
		return fmt.Sprintf("give prioritizer %s weight %d", s.Key, s.Number)
	case Skew:
		term := &spec.SpreadPolicy.SpreadConstraints[s.Index]
		term.MaxSkew = s.Number
		return fmt.Sprintf("raise maxSkew of the spread over %s to %d", topologyOf(*term), s.Number)
	case FailBack:
		spec.FailbackPolicy = &clusterv1beta1.FailbackPolicy{StabilizationSeconds: new(int32(0))}
		return "set failbackPolicy.stabilizationSeconds to 0"
	default:
		return "wait until " + timeText(*s.At)
	}
}

// claim replaces a claim of the cluster.
func (t *trial) claim(s Step, by ...clusterv1.ManagedClusterClaim) {
	claims := slices.DeleteFunc(t.cluster.Status.ClusterClaims, func(c clusterv1.ManagedClusterClaim) bool { return c.Name == s.Key })
	t.cluster.Status.ClusterClaims = append(claims, by...) //nolint:gocritic // claims has what stays of the same slice
}

// report sets a score of the cluster as its provider would: the other scores stay, and expired scores count again.
func (t *trial) report(s Step) {
	out := &fleet.Score{Resource: s.Key}
	id, _ := t.Snapshot.ID(t.cluster.Name)
	if before := t.Snapshot.Score(id, s.Key); before != nil {
		out.Items = slices.DeleteFunc(slices.Clone(before.Items), func(item clusterv1alpha1.AddOnPlacementScoreItem) bool {
			return item.Name == s.Value
		})
		if !before.Expired(t.Snapshot.Now) {
			out.ValidUntil = before.ValidUntil
		}
	}
	out.Items = append(out.Items, clusterv1alpha1.AddOnPlacementScoreItem{Name: s.Value, Value: s.Number})
	t.edit.SetScore(t.cluster.Name, out)
}

// weigh sets the weight of a prioritizer, which is added to the list if it is not listed.
func weigh(policy *clusterv1beta1.PrioritizerPolicy, by program.Prioritizer, weight int32) {
	out := clusterv1beta1.ScoreCoordinate{Type: clusterv1beta1.ScoreCoordinateTypeBuiltIn, BuiltIn: by.Name()}
	if by.Kind == program.AddOn {
		addOn := &clusterv1beta1.AddOnScore{ResourceName: by.Resource, ScoreName: by.Score}
		out = clusterv1beta1.ScoreCoordinate{Type: clusterv1beta1.ScoreCoordinateTypeAddOn, AddOn: addOn}
	}
	policy.Configurations = slices.DeleteFunc(policy.Configurations, func(config clusterv1beta1.PrioritizerConfig) bool {
		return config.ScoreCoordinate.BuiltIn == out.BuiltIn && equality.Semantic.DeepEqual(config.ScoreCoordinate.AddOn, out.AddOn)
	})
	policy.Configurations = append(policy.Configurations, clusterv1beta1.PrioritizerConfig{ScoreCoordinate: &out, Weight: new(weight)})
}

// topologyOf returns what a spread constraint divides clusters by.
func topologyOf(term clusterv1beta1.SpreadConstraintsTerm) program.Topology {
	source := fleet.Label
	if term.TopologyKeyType == clusterv1beta1.TopologyKeyTypeClaim {
		source = fleet.Claim
	}
	return program.Topology{Source: source, Key: term.TopologyKey}
}
