package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/internal/cli/generate"
)

const (
	costlyClusters = 240
	// costlyCount is the number of placements of one namespace whose decisions have the maximal cost and are repeated.
	costlyCount = 25
	// costlyRounds is how often placements are measured without costly placements and with them, alternately. costlyRoundSize
	// is how many placements of other namespaces are decided in each round.
	costlyRounds    = 6
	costlyRoundSize = 60
	// costlyNamespace contains the costly placements, and costlyScore is the score that they read.
	costlyNamespace = "costly"
	costlyScore     = "costly"
	// costlyScoreRate is how often per second their score changes. Each change enqueues all of them, and their decisions take
	// longer than the interval.
	costlyScoreRate = 1
)

// costlyRun measures the delay that placements of maximal cost cause in other namespaces.
func costlyRun() Run {
	return Run{
		Name:    "costly",
		About:   fmt.Sprintf("how soon a placement is decided while another namespace has %d placements at the cost limit", costlyCount),
		Measure: measureCostly,
	}
}

func measureCostly(ctx context.Context, s Options) ([]bench.Figure, error) {
	f := generate.New(generate.Shape{Clusters: costlyClusters, Placements: (2*costlyRounds + 1) * costlyRoundSize, Seed: 1})
	s.logf("costly: starting a hub with %d clusters", len(f.Clusters))
	side, err := newMeasuredHub(ctx, s, f, true)
	if err != nil {
		return nil, err
	}
	defer side.stop()
	stop, err := side.createCostly(ctx, f.Clusters[0].Name)
	if err != nil {
		return nil, err
	}
	s.logf("costly: %d times %d placements alone, then beside %d costly placements", costlyRounds, costlyRoundSize, costlyCount)
	out, err := side.measureWithCostly(ctx, f.Placements)
	return out, errors.Join(err, stop())
}

// measureWithCostly stores placements while the costly placements are disabled and while they are enabled, alternately. The
// first round is a warm-up.
func (m *measuredHub) measureWithCostly(ctx context.Context, placements []*clusterv1beta1.Placement) ([]bench.Figure, error) {
	var alone, beside sample
	var busy, took time.Duration
	turn := func(number int, into *sample) error {
		return m.createEach(ctx, placements[number*costlyRoundSize:(number+1)*costlyRoundSize], into)
	}
	if err := turn(0, &sample{}); err != nil {
		return nil, err
	}
	for n := range costlyRounds {
		if err := turn(1+2*n, &alone); err != nil {
			return nil, err
		}
		if err := m.disableCostly(ctx, false); err != nil {
			return nil, err
		}
		before, err := m.usage(ctx)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		if err := turn(2+2*n, &beside); err != nil {
			return nil, err
		}
		took += time.Since(began)
		after, err := m.usage(ctx)
		if err != nil {
			return nil, err
		}
		busy += after.since(before).manager
		if err := m.disableCostly(ctx, true); err != nil {
			return nil, err
		}
	}
	return append(beside.ratios("decided beside costly placements", alone), bench.Figure{
		Name: "cores that the manager keeps busy meanwhile", Unit: bench.Ratio, Value: float64(busy) / float64(took),
		Detail: fmt.Sprintf("%s in %s", busy.Round(time.Millisecond), took.Round(time.Millisecond)),
	}), nil
}

// createEach stores placements one by one and records the time until each decision.
func (m *measuredHub) createEach(ctx context.Context, placements []*clusterv1beta1.Placement, into *sample) error {
	follower, err := m.watchDecisions(ctx)
	if err != nil {
		return err
	}
	defer follower.stop()
	for _, placement := range placements {
		if err := m.admin.Create(ctx, placement.DeepCopy()); err != nil {
			return fmt.Errorf("storing a placement: %w", err)
		}
		if err := into.time(func() error { return follower.awaitDecided(ctx, placement) }); err != nil {
			return err
		}
	}
	return nil
}

// disableCostly disables or enables the costly placements.
func (m *measuredHub) disableCostly(ctx context.Context, disabled bool) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"%t"}}}`, clusterv1beta1.PlacementDisableAnnotation, disabled)
	return inParallel(ctx, costlyCount, func(ctx context.Context, _, n int) error {
		return m.admin.Patch(ctx, costlyPlacement(n), client.RawPatch(types.MergePatchType, []byte(patch)))
	})
}

// createCostly stores the costly placements, disabled. They read a score of one cluster, which changes until stop is called.
func (m *measuredHub) createCostly(ctx context.Context, cluster string) (stop func() error, err error) {
	score := &clusterv1alpha1.AddOnPlacementScore{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: costlyScore}}
	binding := &clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: costlyNamespace, Name: "global"}}
	binding.Spec.ClusterSet = binding.Name
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: costlyNamespace}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cluster}},
		binding, score,
	}
	for n := range costlyCount {
		objects = append(objects, costlyPlacement(n))
	}
	for _, object := range objects {
		if err := m.admin.Create(ctx, object); err != nil {
			return nil, fmt.Errorf("storing the costly placements: %w", err)
		}
	}
	return atRate(ctx, costlyScoreRate, func(ctx context.Context, _, n int) error {
		patch := fmt.Sprintf(`{"status":{"scores":[{"name":"load","value":%d}]}}`, n%100)
		return m.admin.Status().Patch(ctx, score.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
	}), nil
}

// costlyPlacement returns a placement whose decision has nearly the maximal cost, and is repeated when a score changes.
func costlyPlacement(number int) *clusterv1beta1.Placement {
	const loops = 4 // ten times each, 60,000 units
	expression := strings.Repeat("[1,2,3,4,5,6,7,8,9,10].all(x, ", loops) + "true" + strings.Repeat(")", loops)
	out := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: costlyNamespace, Name: fmt.Sprintf("costly-%02d", number)}}
	out.Annotations = map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"}
	out.Spec.NumberOfClusters = new(int32(1))
	out.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
		CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: []string{
			expression + fmt.Sprintf(` && managedCluster.scores(%q).size() == 1`, costlyScore),
		}},
	}}}
	return out
}
