package rollout_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/rollout"
)

// Two clusters at a time, the canary first. It has the change; one ordinary cluster failed, which is tolerated.
func ExampleNext() {
	strategy := &clusterv1alpha1.RolloutStrategy{
		Type: clusterv1alpha1.Progressive,
		Progressive: &clusterv1alpha1.RolloutProgressive{
			RolloutConfig:  clusterv1alpha1.RolloutConfig{MaxFailures: intstr.FromInt32(1)},
			MaxConcurrency: intstr.FromInt32(2),
			MandatoryDecisionGroups: clusterv1alpha1.MandatoryDecisionGroups{
				MandatoryDecisionGroups: []clusterv1alpha1.MandatoryDecisionGroup{{GroupName: "canary"}},
			},
		},
	}
	groups := rollout.Groups{Groups: []decision.Group{
		{GroupKey: decision.GroupKey{Index: 0, Name: "canary"}, Clusters: []string{"eu-1"}},
		{GroupKey: decision.GroupKey{Index: 1}, Clusters: []string{"eu-2", "us-1", "us-2", "us-3"}},
	}}
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	step := rollout.Next(strategy, groups, []rollout.Status{
		{Cluster: "eu-1", State: rollout.StateSucceeded, Since: at},
		{Cluster: "eu-2", State: rollout.StateFailed, Since: at},
	}, at)

	fmt.Println(step.Phase, "-", step.Message())
	for _, v := range step.Verdicts {
		fmt.Printf("%s %s: %s\n", v.Cluster, v.Code, step.Explain(v))
	}
	// Output:
	// Advancing - Starting 2 clusters, 2 of 5 under way then
	// eu-1 Done: has the change
	// eu-2 Failing: failed, and may recover
	// us-1 Starting: gets the change now
	// us-2 Starting: gets the change now
	// us-3 WaitsForPlace: 2 of 2 places are taken
}

// store is where a controller keeps what it rolls out: a copy for each cluster, such as a work in the cluster's
// namespace.
type store interface {
	// Statuses returns how far every copy has come that belongs to the rollout, of clusters that are selected or not,
	// current or outdated.
	Statuses(ctx context.Context) ([]rollout.Status, error)
	// Apply gives a cluster the current copy, and stamps it Progressing with the time.
	Apply(ctx context.Context, cluster string, now time.Time) error
	// Delete takes the copy of a cluster away.
	Delete(ctx context.Context, cluster string) error
	// Report stores where the rollout stands, in a condition, if that is new.
	Report(ctx context.Context, step rollout.Step) error
}

// controller brings one change to the clusters of one placement.
type controller struct {
	slices   decision.Lister
	strategy *clusterv1alpha1.RolloutStrategy
	store    store
}

// reconcile is the whole loop of a controller. It is called when the placement's decisions, a copy or the strategy
// change, and after the time that it returns; 0 is for never.
func (c *controller) reconcile(ctx context.Context, placement *clusterv1beta1.Placement, now time.Time) (time.Duration, error) {
	set, err := decision.FromLister(c.slices, placement.Name)
	if err != nil {
		return 0, err
	}
	statuses, err := c.store.Statuses(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading how far clusters have come: %w", err)
	}
	step := rollout.Next(c.strategy, rollout.Groups{
		Groups:                   set.Groups(),
		ClustersPerDecisionGroup: placement.Spec.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup,
	}, statuses, now)

	for _, cluster := range step.Removed {
		if err := c.store.Delete(ctx, cluster); err != nil {
			return 0, fmt.Errorf("cleaning up on %s: %w", cluster, err)
		}
	}
	if !set.Inconsistent() { // groups may be about to change: the write that ends it calls again
		for _, cluster := range step.Apply {
			if err := c.store.Apply(ctx, cluster, now); err != nil {
				return 0, fmt.Errorf("applying to %s: %w", cluster, err)
			}
		}
	}
	if err := c.store.Report(ctx, step); err != nil {
		return 0, fmt.Errorf("reporting: %w", err)
	}
	if step.Until.IsZero() {
		return 0, nil
	}
	return step.Until.Sub(now), nil
}

// memory is a store for this example: every cluster takes the change at once.
type memory struct{ copies map[string]rollout.Status }

func (m memory) Statuses(context.Context) ([]rollout.Status, error) {
	var out []rollout.Status
	for _, status := range m.copies {
		out = append(out, status)
	}
	return out, nil
}

func (m memory) Apply(_ context.Context, cluster string, now time.Time) error {
	m.copies[cluster] = rollout.Status{Cluster: cluster, State: rollout.StateSucceeded, Since: now}
	return nil
}

func (m memory) Delete(_ context.Context, cluster string) error {
	delete(m.copies, cluster)
	return nil
}

func (m memory) Report(_ context.Context, step rollout.Step) error {
	fmt.Printf("%s: apply to [%s], remove from [%s]\n", step.Phase, strings.Join(step.Apply, " "), strings.Join(step.Removed, " "))
	return nil
}

// A controller is one function around Next: read, ask, do, report. This one keeps its copies in memory.
func Example_controller() {
	lister := oneSlice{"eu-1", "eu-2"}
	c := &controller{slices: lister, strategy: &clusterv1alpha1.RolloutStrategy{
		Type: clusterv1alpha1.Progressive, Progressive: &clusterv1alpha1.RolloutProgressive{MaxConcurrency: intstr.FromInt32(1)},
	}, store: memory{copies: map[string]rollout.Status{"us-9": {Cluster: "us-9", State: rollout.StateSucceeded}}}}

	placement := &clusterv1beta1.Placement{}
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for range 3 {
		if _, err := c.reconcile(context.Background(), placement, at); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// Advancing: apply to [eu-1], remove from [us-9]
	// Advancing: apply to [eu-2], remove from []
	// Finished: apply to [], remove from []
}
