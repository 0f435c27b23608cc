package run

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/hub"
	"github.com/berth-project/berth/config"
)

const (
	// worksPrefix begins the name of a run of deliveries. Clusters and sets follow.
	worksPrefix = "works-"
	// worksNamespace is the namespace of the sets, worksPlacement their placement. It selects every cluster.
	worksNamespace, worksPlacement = "bench", "all"
	// templateBytes is the size of the template of a set.
	templateBytes = 3000
	// sliceSize is how many decisions a slice has.
	sliceSize = 100
	// deliveryFlag runs the controller of sets alone, so that the CPU of the manager is that of the delivery.
	deliveryFlag = "--controllers=replicaset"
)

// worksRun measures the delivery of sets to clusters, all steps on one pair of hubs.
func worksRun(clusters, sets int) Run {
	return Run{
		Name: fmt.Sprintf("%s%dx%d", worksPrefix, clusters, sets),
		About: fmt.Sprintf("%d sets that deliver to %d clusters: cold, changed, with agents, and after restarts, beside the "+
			"same writes by plain clients",
			sets, clusters),
		Measure: func(ctx context.Context, s Options) ([]bench.Figure, error) {
			return measureWorks(ctx, s, clusters, sets)
		},
	}
}

// works are a hub with a manager and a hub without, both with the same clusters.
type works struct {
	options Options
	name    string
	// manifests are applied to both hubs: the permissions of the controllers that are measured.
	manifests     []fs.FS
	managed, open *measuredHub
	clusters      []string
	sets          []*workv1alpha1.ManifestWorkReplicaSet
	// emptyCPU and emptyMemory are of a manager on a hub without works.
	emptyCPU, emptyReader float64
	emptyMemory           int64
	// round numbers the changes of templates.
	round int
}

// worksStep is a part of the run. The names of its figures begin with its name.
type worksStep struct {
	name    string
	measure func(context.Context, *works) ([]bench.Figure, error)
}

// worksSteps returns the steps in their order. Each begins with the hubs as the step before left them.
func worksSteps() []worksStep {
	return []worksStep{
		{"empty", measureEmptyManager},
		{"cold", measureColdWorks},
		{"change", measureChangedWorks},
		{"status", measureStatusWrites},
		{"restart", measureWorksRestart},
		{"agents", measureWorksAgents},
	}
}

func measureWorks(ctx context.Context, s Options, clusters, sets int) (figures []bench.Figure, err error) {
	w := &works{options: s, manifests: []fs.FS{config.Delivery()}, name: fmt.Sprintf("%s%dx%d", worksPrefix, clusters, sets)}
	for i := range clusters {
		w.clusters = append(w.clusters, fmt.Sprintf("c-%05d", i))
	}
	for i := range sets {
		w.sets = append(w.sets, newBenchSet(fmt.Sprintf("set-%03d", i)))
	}
	defer w.stop()
	s.logf("%s: starting two hubs with %d clusters", w.name, clusters)
	if err := w.startHubs(ctx); err != nil {
		return nil, err
	}
	for _, step := range worksSteps() {
		s.logf("%s: %s", w.name, step.name)
		measured, err := step.measure(ctx, w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		for _, figure := range measured {
			figure.Name = step.name + ": " + figure.Name
			figures = append(figures, figure)
			s.logf("%s:   %s = %s (%s)", w.name, figure.Name, figure, figure.Detail)
		}
	}
	return figures, nil
}

func (w *works) stop() {
	for _, side := range []*measuredHub{w.managed, w.open} {
		if side != nil {
			side.stop()
		}
	}
}

// startHubs starts both hubs, and stores the clusters and their decision. No manager runs yet.
func (w *works) startHubs(ctx context.Context) error {
	manifests, err := os.MkdirTemp("", "berth-bench-")
	if err != nil {
		return fmt.Errorf("storing manifests: %w", err)
	}
	defer func() { _ = os.RemoveAll(manifests) }() // a leftover temporary folder does no harm
	for i, files := range w.manifests {
		if err := copyManifests(filepath.Join(manifests, strconv.Itoa(i)), files); err != nil {
			return err
		}
	}
	for _, side := range []**measuredHub{&w.managed, &w.open} {
		started, err := hub.StartWith(ctx, w.options.Bin, manifests)
		if err != nil {
			return err
		}
		*side = &measuredHub{hub: started}
		if (*side).admin, err = started.Admin(); err != nil {
			return err
		}
		if err := w.storeClusters(ctx, *side); err != nil {
			return fmt.Errorf("storing the clusters: %w", err)
		}
	}
	return nil
}

func copyManifests(to string, from fs.FS) error {
	if err := os.CopyFS(to, from); err != nil {
		return fmt.Errorf("copying manifests: %w", err)
	}
	return nil
}

// storeClusters stores what the controller of sets reads of clusters: their namespaces, and a decision.
func (w *works) storeClusters(ctx context.Context, to *measuredHub) error {
	names := append([]string{worksNamespace}, w.clusters...)
	err := inParallel(ctx, len(names), func(ctx context.Context, _, i int) error {
		return to.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: names[i]}})
	})
	if err != nil {
		return err
	}
	placement := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: worksNamespace, Name: worksPlacement}}
	if err := to.admin.Create(ctx, placement); err != nil {
		return err
	}
	for start := 0; start < len(w.clusters); start += sliceSize {
		slice := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
			Namespace: worksNamespace, Name: fmt.Sprintf("%s-%d", worksPlacement, start/sliceSize),
			Labels: map[string]string{clusterv1beta1.PlacementLabel: worksPlacement, clusterv1beta1.DecisionGroupIndexLabel: "0"},
		}}
		if err := to.admin.Create(ctx, slice); err != nil {
			return err
		}
		for _, cluster := range w.clusters[start:min(len(w.clusters), start+sliceSize)] {
			slice.Status.Decisions = append(slice.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: cluster})
		}
		if err := to.admin.Status().Update(ctx, slice); err != nil {
			return err
		}
	}
	placement.Status.NumberOfSelectedClusters = int32(len(w.clusters)) //nolint:gosec // at most 100,000
	return to.admin.Status().Update(ctx, placement)
}

// newBenchSet returns a set of the type All with a template of templateBytes.
func newBenchSet(name string) *workv1alpha1.ManifestWorkReplicaSet {
	out := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: worksNamespace, Name: name}}
	out.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: worksPlacement}}
	out.Spec.ManifestWorkTemplate.Workload = benchManifests(name, "0")
	return out
}

// benchManifests returns one ConfigMap that names its round.
func benchManifests(name, round string) workv1.ManifestsTemplate {
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":%q},"data":{"round":%q,"text":%q}}`,
		name, round, strings.Repeat("x", templateBytes))
	return workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(text)}}}}
}

// changeTemplate changes the template of a set.
func (w *works) changeTemplate(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet) error {
	w.round++
	stored := &workv1alpha1.ManifestWorkReplicaSet{}
	if err := w.managed.admin.Get(ctx, client.ObjectKeyFromObject(set), stored); err != nil {
		return fmt.Errorf("reading a set: %w", err)
	}
	stored.Spec.ManifestWorkTemplate.Workload = benchManifests(set.Name, fmt.Sprint(w.round))
	if err := w.managed.admin.Update(ctx, stored); err != nil {
		return fmt.Errorf("changing a set: %w", err)
	}
	return nil
}
