package enginetest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
)

// withDetails gives the decisions of a slice reasons and scores.
func (r Random) withDetails(slice *clusterv1beta1.PlacementDecision) *clusterv1beta1.PlacementDecision {
	out := slice.DeepCopy()
	scored := r.Chance(40)
	for i := range out.Status.Decisions {
		out.Status.Decisions[i].Reason = one(r, "", "", "t0", "rest")
		if scored {
			out.Status.Decisions[i].Score = int64(r.IntN(5)*100 - 100)
		}
	}
	return out
}

// WithStatus gives a placement a status, which may be of another spec, or invalid.
func (r Random) WithStatus(w *State, key fleet.Key) *clusterv1beta1.Placement {
	b := &PlacementBuilder{object: *w.Placements[key].DeepCopy()}
	if r.Chance(75) {
		b.Decided()
	}
	if r.Chance(20) {
		b.object.Generation++
	}
	if r.Chance(40) {
		r.account(b, len(w.Clusters))
	}
	if r.Chance(40) {
		for range r.IntN(3) {
			b.Waiting(r.statusTime(), r.members(len(w.Clusters))...)
		}
	}
	if r.Chance(50) {
		b.object.Status.LastScoreUpdateTime = &metav1.Time{Time: r.wholeSecond()}
	}
	for _, condition := range []string{
		clusterv1beta1.PlacementConditionHeld, clusterv1beta1.PlacementConditionScoresExpired,
		clusterv1beta1.PlacementConditionSpreadExceeded,
	} {
		if r.Chance(15) {
			b.object.Status.Conditions = append(b.object.Status.Conditions, metav1.Condition{
				Type: condition, Status: one(r, metav1.ConditionTrue, metav1.ConditionFalse), Reason: "Bygone",
				LastTransitionTime: metav1.NewTime(Epoch),
			})
		}
	}
	return b.Obj()
}

// WithHold gives a state the hold of expressions, placements that read claims and scores, and clusters on which an expression failed
// before.
func (r Random) WithHold(w *State) *State {
	w.ExpressionHold, w.Failing = time.Hour, map[fleet.Key]map[string]time.Time{}
	for i := range len(w.Clusters) {
		if r.Chance(50) {
			w.Add(r.score(clusterName(i)))
		}
	}
	for _, key := range w.Keys() {
		placement := w.Placements[key].DeepCopy()
		reads := clusterv1beta1.ClusterSelector{CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: []string{r.reads()}}}
		if placement.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: reads}}; r.Chance(20) {
			placement.Spec.Predicates = nil
			placement.Spec.Tiers = []clusterv1beta1.ClusterTier{{Name: "t0", ClusterSelector: reads}}
		}
		w.Add(placement)
		w.Failing[key] = map[string]time.Time{}
		for _, name := range r.members(len(w.Clusters)) {
			w.Failing[key][name] = Epoch.Add(-time.Duration(r.IntN(90)) * time.Minute)
		}
	}
	return w
}

// WithBrake gives a state clusters that a brake keeps.
func (r Random) WithBrake(w *State) *State {
	w.Braked = map[fleet.Key]map[string]string{}
	for _, key := range w.Keys() {
		w.Braked[key] = map[string]string{}
		for _, name := range r.members(len(w.Clusters)) {
			w.Braked[key][name] = "too many would leave"
		}
	}
	return w
}

// WithTypos gives a state the hold of unknown references, and placements with an edit that may name what no cluster has.
func (r Random) WithTypos(w *State) *State {
	w.HoldReferences = true
	for _, key := range w.Keys() {
		placement := w.Placements[key].DeepCopy()
		placement.Generation++
		if r.Chance(70) {
			r.misspell(&placement.Spec)
		}
		w.Add(placement)
	}
	return w
}

// misspell names something in a spec that no cluster has.
func (r Random) misspell(spec *clusterv1beta1.PlacementSpec) {
	typo := clusterv1beta1.ClusterSelector{LabelSelector: LabelIs(one(r, "regoin", "envv", "tire"), "eu")}
	switch r.IntN(6) {
	case 0:
		spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: typo}}
	case 1:
		spec.Predicates = append(spec.Predicates, clusterv1beta1.ClusterPredicate{RequiredClusterSelector: typo})
	case 2:
		spec.Tiers = []clusterv1beta1.ClusterTier{{Name: "t0", ClusterSelector: typo}}
	case 3:
		spec.SpreadPolicy = clusterv1beta1.SpreadPolicy{SpreadConstraints: []clusterv1beta1.SpreadConstraintsTerm{{
			TopologyKey: "regoin", TopologyKeyType: one(r, clusterv1beta1.TopologyKeyTypeLabel, clusterv1beta1.TopologyKeyTypeClaim), MaxSkew: 1,
			WhenUnsatisfiable: clusterv1beta1.DoNotSchedule,
		}}}
	case 4:
		spec.PrioritizerPolicy = clusterv1beta1.PrioritizerPolicy{Mode: "Exact", Configurations: []clusterv1beta1.PrioritizerConfig{{
			ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{
				Type:  "AddOn",
				AddOn: &clusterv1beta1.AddOnScore{ResourceName: "load", ScoreName: "cqu"},
			},
		}}}
	default:
		spec.ClusterSets = []string{one(r, "s11", "s22", "s1")}
	}
}

// reads draws an expression that fails without a claim or score.
func (r Random) reads() string {
	return one(r,
		`managedCluster.claim("platform") != "aws"`,
		`managedCluster.scores("load").exists(s, s.name == "cpu" && s.value >= 0)`,
		`managedCluster.scores("cost").size() > 0`,
	)
}

// account draws the status of a disruption policy.
func (r Random) account(b *PlacementBuilder, clusters int) {
	for range r.IntN(3) {
		b.Held(r.statusTime(), r.members(clusters)...)
	}
	for range r.IntN(4) {
		b.Spent(r.statusTime(), int32(r.IntN(4)-r.IntN(2))) //nolint:gosec // small
	}
	if r.Chance(3) {
		for i := range 70 {
			b.Spent(Epoch.Add(time.Duration(i)*time.Second), 1)
		}
	}
	if r.Chance(25) {
		b.Releasing(r.members(clusters)...)
	}
}

// statusTime is an instant in a status, or zero.
func (r Random) statusTime() time.Time {
	if r.Chance(5) {
		return time.Time{}
	}
	return r.wholeSecond()
}
