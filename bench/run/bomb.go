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
	"github.com/berth-project/berth/internal/generate"
)

const (
	bombClusters = 240
	// bombs are the placements of one namespace that cost all they may, and go on doing so.
	bombs = 25
	// bombTurns is how often it is measured without bombs and with them, by turns, and bombTurn how many placements of other
	// namespaces are decided in each.
	bombTurns = 6
	bombTurn  = 60
	// bombNamespace is where the bombs are, and bombScore what they read.
	bombNamespace = "bombs"
	bombScore     = "bomb"
	// bombRate is how often a second their score changes. All of them are decided again then, which takes longer.
	bombRate = 1
)

// bomb measures what placements that cost all they may do to those of other namespaces.
func bomb() Run {
	return Run{
		Name:    "bomb",
		About:   fmt.Sprintf("how soon a placement is decided while another namespace has %d that cost all they may", bombs),
		Measure: measureBomb,
	}
}

func measureBomb(ctx context.Context, s Setting) ([]bench.Figure, error) {
	f := generate.New(generate.Shape{Clusters: bombClusters, Placements: (2*bombTurns + 1) * bombTurn, Seed: 1})
	s.say("bomb: starting a hub with %d clusters", len(f.Clusters))
	side, err := newSide(ctx, s, f, true)
	if err != nil {
		return nil, err
	}
	defer side.stop()
	stop, err := side.plantBombs(ctx, f.Clusters[0].Name)
	if err != nil {
		return nil, err
	}
	s.say("bomb: %d times %d placements alone, then beside %d bombs", bombTurns, bombTurn, bombs)
	out, err := side.bombed(ctx, f.Placements)
	return out, errors.Join(err, stop())
}

// bombed stores placements by turns while the bombs are disabled and while they are not. The first turn warms up.
func (s *side) bombed(ctx context.Context, placements []*clusterv1beta1.Placement) ([]bench.Figure, error) {
	var alone, beside sample
	var busy, took time.Duration
	turn := func(number int, into *sample) error {
		return s.storeEach(ctx, placements[number*bombTurn:(number+1)*bombTurn], into)
	}
	if err := turn(0, &sample{}); err != nil {
		return nil, err
	}
	for n := range bombTurns {
		if err := turn(1+2*n, &alone); err != nil {
			return nil, err
		}
		if err := s.disableBombs(ctx, false); err != nil {
			return nil, err
		}
		before, err := s.spent(ctx)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		if err := turn(2+2*n, &beside); err != nil {
			return nil, err
		}
		took += time.Since(began)
		after, err := s.spent(ctx)
		if err != nil {
			return nil, err
		}
		busy += after.since(before).manager
		if err := s.disableBombs(ctx, true); err != nil {
			return nil, err
		}
	}
	return append(beside.beside("decided beside bombs", alone), bench.Figure{
		Name: "cores that the manager keeps busy meanwhile", Unit: bench.Ratio, Value: float64(busy) / float64(took),
		From: fmt.Sprintf("%s in %s", busy.Round(time.Millisecond), took.Round(time.Millisecond)),
	}), nil
}

// storeEach stores placements one by one and notes how long each took to be decided.
func (s *side) storeEach(ctx context.Context, placements []*clusterv1beta1.Placement, into *sample) error {
	follower, err := s.follow(ctx)
	if err != nil {
		return err
	}
	defer follower.stop()
	for _, placement := range placements {
		if err := s.admin.Create(ctx, placement.DeepCopy()); err != nil {
			return fmt.Errorf("storing a placement: %w", err)
		}
		if err := into.timed(func() error { return follower.awaitDecided(ctx, placement) }); err != nil {
			return err
		}
	}
	return nil
}

// disableBombs lets the manager decide the bombs, or no more.
func (s *side) disableBombs(ctx context.Context, disabled bool) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"%t"}}}`, clusterv1beta1.PlacementDisableAnnotation, disabled)
	return inParallel(ctx, bombs, func(ctx context.Context, _, n int) error {
		return s.admin.Patch(ctx, costly(n), client.RawPatch(types.MergePatchType, []byte(patch)))
	})
}

// plantBombs stores the bombs, disabled. They read a score of one cluster, which changes until stop is called.
func (s *side) plantBombs(ctx context.Context, cluster string) (stop func() error, err error) {
	score := &clusterv1alpha1.AddOnPlacementScore{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: bombScore}}
	binding := &clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: bombNamespace, Name: "global"}}
	binding.Spec.ClusterSet = binding.Name
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: bombNamespace}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cluster}}, binding, score,
	}
	for n := range bombs {
		objects = append(objects, costly(n))
	}
	for _, object := range objects {
		if err := s.admin.Create(ctx, object); err != nil {
			return nil, fmt.Errorf("storing the bombs: %w", err)
		}
	}
	return steadily(ctx, bombRate, func(ctx context.Context, _, n int) error {
		patch := fmt.Sprintf(`{"status":{"scores":[{"name":"load","value":%d}]}}`, n%100)
		return s.admin.Status().Patch(ctx, score.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
	}), nil
}

// costly returns a placement that costs nearly all it may on so many clusters, and again whenever a score changes.
func costly(number int) *clusterv1beta1.Placement {
	const loops = 4 // ten times each, 60,000 units
	expression := strings.Repeat("[1,2,3,4,5,6,7,8,9,10].all(x, ", loops) + "true" + strings.Repeat(")", loops)
	out := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: bombNamespace, Name: fmt.Sprintf("bomb-%02d", number)}}
	out.Annotations = map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"}
	out.Spec.NumberOfClusters = new(int32(1))
	out.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
		CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: []string{
			expression + fmt.Sprintf(` && managedCluster.scores(%q).size() == 1`, bombScore),
		}},
	}}}
	return out
}
