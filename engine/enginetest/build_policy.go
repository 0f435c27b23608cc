package enginetest

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// Tier adds a tier.
func (b *PlacementBuilder) Tier(name string, selector clusterv1beta1.ClusterSelector) *PlacementBuilder {
	b.object.Spec.Tiers = append(b.object.Spec.Tiers, clusterv1beta1.ClusterTier{Name: name, ClusterSelector: selector})
	return b
}

// TierOf adds a tier of the clusters with these names, or of all remaining clusters.
func (b *PlacementBuilder) TierOf(name string, clusters ...string) *PlacementBuilder {
	return b.Tier(name, clusterv1beta1.ClusterSelector{ClusterNames: clusters})
}

// Failback sets for how many seconds a cluster of an earlier tier must qualify.
func (b *PlacementBuilder) Failback(seconds int32) *PlacementBuilder {
	b.object.Spec.FailbackPolicy = &clusterv1beta1.FailbackPolicy{StabilizationSeconds: &seconds}
	return b
}

// Budget sets maxUnavailable, a number or a percentage. An interval of 0 is the default.
func (b *PlacementBuilder) Budget(most string, interval time.Duration) *PlacementBuilder {
	b.object.Spec.DisruptionPolicy = &clusterv1beta1.DisruptionPolicy{
		MaxUnavailable: intstr.Parse(most), Interval: metav1.Duration{Duration: interval},
	}
	return b
}

// Apart adds a term of anti-affinity.
func (b *PlacementBuilder) Apart(kind clusterv1beta1.TopologyKeyType, key string) *PlacementBuilder {
	policy := &b.object.Spec.SpreadPolicy
	policy.AntiAffinity = append(policy.AntiAffinity, clusterv1beta1.AntiAffinityTerm{TopologyKeyType: kind, TopologyKey: key})
	return b
}

// Even adds a spread constraint, hard or soft.
func (b *PlacementBuilder) Even(kind clusterv1beta1.TopologyKeyType, key string, skew int32, hard bool) *PlacementBuilder {
	action := clusterv1beta1.ScheduleAnyway
	if hard {
		action = clusterv1beta1.DoNotSchedule
	}
	policy := &b.object.Spec.SpreadPolicy
	policy.SpreadConstraints = append(policy.SpreadConstraints, clusterv1beta1.SpreadConstraintsTerm{
		TopologyKeyType: kind, TopologyKey: key, MaxSkew: skew, WhenUnsatisfiable: action,
	})
	return b
}

// ByScore orders decisions by score and sets how often scores are rewritten.
func (b *PlacementBuilder) ByScore(limit string) *PlacementBuilder {
	b.object.Spec.SortBy, b.object.Spec.ScoreRateLimit = clusterv1beta1.SortByScore, limit
	return b
}

// Decided records that the last decision was made for the current spec.
func (b *PlacementBuilder) Decided() *PlacementBuilder {
	meta.SetStatusCondition(&b.object.Status.Conditions, metav1.Condition{
		Type: clusterv1beta1.PlacementConditionSatisfied, Status: metav1.ConditionTrue,
		Reason: clusterv1beta1.ReasonAllDecisionsScheduled, Message: "All cluster decisions scheduled",
		ObservedGeneration: b.object.Generation, LastTransitionTime: metav1.NewTime(Epoch),
	})
	return b
}

// Spent adds an entry to the spent budget.
func (b *PlacementBuilder) Spent(at time.Time, count int32) *PlacementBuilder {
	account := b.account()
	account.Spent = append(account.Spent, clusterv1beta1.DisruptionSpent{At: metav1.NewTime(at), Count: count})
	return b
}

// Releasing adds clusters that are charged to the budget.
func (b *PlacementBuilder) Releasing(clusters ...string) *PlacementBuilder {
	b.account().Releasing = append(b.account().Releasing, clusters...)
	return b
}

// Held adds clusters that are held since an instant.
func (b *PlacementBuilder) Held(since time.Time, clusters ...string) *PlacementBuilder {
	b.account().Held = append(b.account().Held, clusterv1beta1.ClustersSince{Since: metav1.NewTime(since), Clusters: slices.Clone(clusters)})
	return b
}

// Waiting adds clusters of earlier tiers that qualify since an instant.
func (b *PlacementBuilder) Waiting(since time.Time, clusters ...string) *PlacementBuilder {
	if b.object.Status.Failback == nil {
		b.object.Status.Failback = &clusterv1beta1.FailbackStatus{}
	}
	b.object.Status.Failback.Waiting = append(b.object.Status.Failback.Waiting,
		clusterv1beta1.ClustersSince{Since: metav1.NewTime(since), Clusters: slices.Clone(clusters)})
	return b
}

func (b *PlacementBuilder) account() *clusterv1beta1.DisruptionStatus {
	if b.object.Status.Disruption == nil {
		b.object.Status.Disruption = &clusterv1beta1.DisruptionStatus{}
	}
	return b.object.Status.Disruption
}
