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

// Two clusters at a time, the canary group first. It has the change. One other cluster failed, which maxFailures allows.
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
		fmt.Printf("- %s %s: %s\n", v.Cluster, v.Code, step.Explain(v))
	}
	// Output:
	// Advancing - Starting 2 clusters, 2 of 5 under way then
	// - eu-1 Done: has the change
	// - eu-2 Failing: failed, and may recover
	// - us-1 Starting: gets the change now
	// - us-2 Starting: gets the change now
	// - us-3 WaitsForPlace: maxConcurrency is reached: 2 of 2
}

// store has the copies that a controller rolls out, such as a ManifestWork for each cluster.
type store interface {
	// Statuses returns the status of every copy of the rollout: of selected and of other clusters, current and outdated.
	Statuses(ctx context.Context) ([]rollout.Status, error)
	// Apply gives a cluster the current copy, and records it as Progressing with the time.
	Apply(ctx context.Context, cluster string, now time.Time) error
	// Delete removes the copy of a cluster.
	Delete(ctx context.Context, cluster string) error
	// Report stores the phase and message of a step in a condition, if they changed.
	Report(ctx context.Context, step rollout.Step) error
}

// controller rolls one change out to the clusters of one placement.
type controller struct {
	slices   decision.Lister
	strategy *clusterv1alpha1.RolloutStrategy
	store    store
}

// reconcile is all that a controller adds. It runs when the placement's decisions, a copy or the strategy change, and again
// after the duration that it returns; 0 is never.
func (c *controller) reconcile(ctx context.Context, placement *clusterv1beta1.Placement, now time.Time) (time.Duration, error) {
	decisions, err := decision.FromLister(c.slices, placement.Name)
	if err != nil {
		return 0, err
	}
	statuses, err := c.store.Statuses(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading statuses: %w", err)
	}
	step := rollout.Next(c.strategy, rollout.GroupsOf(decisions, placement), statuses, now)
	for _, cluster := range step.Removed {
		if err := c.store.Delete(ctx, cluster); err != nil {
			return 0, fmt.Errorf("deleting the copy of %s: %w", cluster, err)
		}
	}
	if !decisions.Inconsistent() { // groups may be about to change; the write that completes them triggers another call
		for _, cluster := range step.Apply {
			if err := c.store.Apply(ctx, cluster, now); err != nil {
				return 0, fmt.Errorf("applying to %s: %w", cluster, err)
			}
		}
	}
	if err := c.store.Report(ctx, step); err != nil {
		return 0, fmt.Errorf("reporting: %w", err)
	}
	return step.RequeueAfter(now), nil
}

// memory is a store in which every cluster takes the change at once.
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

// A controller is one function around Next: read, compute a step, apply it, report it.
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
