package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/hub"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/internal/cli/generate"
)

const (
	// addOnClusters is the size of the run addons. A run of another size is addOnsPrefix and the size.
	addOnClusters, addOnsPrefix = 1000, "addons-"
	// addOnRounds is how many add-ons are installed, each beside the bare writes and a set of works.
	addOnRounds = 5
	// addOnFlag runs the controller of add-ons alone, addOnAndWorksFlag that of sets too, which has nothing to do while add-ons are measured.
	addOnFlag, addOnAndWorksFlag = "--controllers=addoninstall", "--controllers=addoninstall,replicaset"
)

// addOnsRun measures add-ons on every cluster of a fleet.
func addOnsRun(clusters int) Run {
	name := addOnsPrefix + strconv.Itoa(clusters)
	if clusters == addOnClusters {
		name = "addons"
	}
	return Run{
		Name: name,
		About: fmt.Sprintf("%d add-ons over %d clusters: installed, configured and restarted, beside bare writes and beside ManifestWorks alone",
			addOnRounds, clusters),
		Measure: func(ctx context.Context, s Options) ([]bench.Figure, error) {
			return measureAddOns(ctx, s, name, clusters)
		},
	}
}

// addOns are a hub whose manager installs add-ons, and one without on which plain clients write the same. Both have the same clusters.
type addOns struct {
	works

	fleet *generate.Fleet
	// owners are the add-ons of the open side, by name. The collector of garbage deletes objects of missing owners.
	owners map[string]types.UID
	// copied has the objects of the open side as last written: of each add-on, by cluster.
	copied map[string]map[string]*addonv1alpha1.ManagedClusterAddOn
	// emptyInUse is the memory in use of a manager without add-ons.
	emptyInUse int64
}

// addOnsStep is a part of the run. The names of its figures begin with its name.
type addOnsStep struct {
	name    string
	measure func(*addOns, context.Context) ([]bench.Figure, error)
}

// addOnsSteps returns the steps in their order. Each begins with the hubs as the step before left them.
func addOnsSteps() []addOnsStep {
	return []addOnsStep{
		{"install", (*addOns).measureInstall},
		{"change", (*addOns).measureChange},
		{"report", (*addOns).measureReports},
		{"beat", (*addOns).measureBeats},
		{"restart", (*addOns).measureRestart},
	}
}

func measureAddOns(ctx context.Context, s Options, name string, clusters int) (figures []bench.Figure, err error) {
	a := &addOns{
		works: works{options: s, manifests: []fs.FS{config.Delivery(), config.AddOn()}, name: name},
		fleet: generate.New(generate.Shape{Clusters: clusters, Placements: 1, Seed: fleetSeed}), owners: map[string]types.UID{},
		copied: map[string]map[string]*addonv1alpha1.ManagedClusterAddOn{},
	}
	for _, cluster := range a.fleet.Clusters {
		a.clusters = append(a.clusters, cluster.Name)
	}
	defer a.stop()
	s.logf("%s: starting two hubs with %d clusters", name, clusters)
	if err := a.prepare(ctx); err != nil {
		return nil, err
	}
	for _, step := range addOnsSteps() {
		measured, err := step.measure(a, ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		for _, figure := range measured {
			figure.Name = step.name + ": " + figure.Name
			figures = append(figures, figure)
			s.logf("%s:   %s = %s (%s)", name, figure.Name, figure, figure.Detail)
		}
	}
	return figures, nil
}

// prepare starts the hubs with the clusters and a complete decision, and the manager, which is measured before there are add-ons.
func (a *addOns) prepare(ctx context.Context) (err error) {
	if err := a.startHubs(ctx); err != nil {
		return err
	}
	for _, side := range []*measuredHub{a.managed, a.open} {
		err := inParallel(ctx, len(a.fleet.Clusters), func(ctx context.Context, _, i int) error {
			return side.storeCluster(ctx, a.fleet.Clusters[i])
		})
		if err != nil {
			return fmt.Errorf("storing the clusters: %w", err)
		}
	}
	placement := &clusterv1beta1.Placement{}
	if err := a.managed.admin.Get(ctx, client.ObjectKey{Namespace: worksNamespace, Name: worksPlacement}, placement); err != nil {
		return fmt.Errorf("reading the placement: %w", err)
	}
	meta.SetStatusCondition(&placement.Status.Conditions, metav1.Condition{
		Type: clusterv1beta1.PlacementConditionSatisfied, Status: metav1.ConditionTrue, Reason: "Bench", ObservedGeneration: placement.Generation,
	})
	if err := a.managed.admin.Status().Update(ctx, placement); err != nil {
		return fmt.Errorf("writing the placement: %w", err)
	}
	if err := a.restart(ctx, addOnFlag); err != nil {
		return err
	}
	if a.emptyInUse, err = a.managed.manager.InUse(ctx); err != nil {
		return err
	}
	return errors.Join(a.restart(ctx, addOnAndWorksFlag), a.open.awaitIdle(ctx))
}

// restart starts the manager with a flag, instead of a running one.
func (a *addOns) restart(ctx context.Context, flag string) (err error) {
	if a.managed.manager != nil {
		a.managed.manager.Stop()
	}
	if a.managed.manager, err = a.managed.hub.StartManager(ctx, flag); err != nil {
		return err
	}
	return a.managed.awaitIdle(ctx)
}

// measureInstall installs the add-ons one after the other. By turns with each, plain clients write the same objects on the open side, and
// the controller of sets creates the works of a set.
func (a *addOns) measureInstall(ctx context.Context) ([]bench.Figure, error) {
	var installing, delivering usage
	var managed, open, alone time.Duration
	for i := range addOnRounds {
		used, took, err := a.measured(ctx, func() (time.Duration, error) { return a.install(ctx, addOnName(i)) })
		if err != nil {
			return nil, err
		}
		installing.add(used)
		managed += took
		if took, err = a.copyInstall(ctx, addOnName(i)); err != nil {
			return nil, err
		}
		open += took
		if used, took, err = a.measured(ctx, func() (time.Duration, error) { return a.createSet(ctx, newBenchSet(addOnName(i))) }); err != nil {
			return nil, err
		}
		delivering.add(used)
		alone += took
		a.options.logf("%s: add-on %d of %d, %s beside %s of bare writes and %s of works", a.name, i+1, addOnRounds,
			managed.Round(time.Millisecond), open.Round(time.Millisecond),
			alone.Round(time.Millisecond))
	}
	count := float64(addOnRounds * len(a.clusters))
	beside := func(name string, than time.Duration) bench.Figure {
		return bench.Figure{
			Name: name, Unit: bench.Ratio, Value: managed.Seconds() / than.Seconds(),
			Detail: fmt.Sprintf("%.2f s / %.2f s for an add-on", managed.Seconds()/addOnRounds, than.Seconds()/addOnRounds),
		}
	}
	return []bench.Figure{
		beside("time until every cluster has it, beside the bare writes", open),
		beside("time until every cluster has it, beside ManifestWorks alone", alone),
		{
			Name: "writes per cluster", Unit: bench.Ratio, Value: addOnWrites(installing.requests) / count,
			Detail: fmt.Sprintf("%.0f", addOnWrites(installing.requests)),
		},
		{
			Name: "CPU of the manager, beside the API server's", Unit: bench.Ratio,
			Value:  installing.manager.Seconds() / installing.server.Seconds(),
			Detail: fmt.Sprintf("%.2f s / %.2f s", installing.manager.Seconds(), installing.server.Seconds()),
		},
		{
			Name: "CPU of the manager, beside that for ManifestWorks alone", Unit: bench.Ratio,
			Value:  installing.manager.Seconds() / delivering.manager.Seconds(),
			Detail: fmt.Sprintf("%.2f s / %.2f s", installing.manager.Seconds(), delivering.manager.Seconds()),
		},
	}, nil
}

func addOnName(i int) string { return fmt.Sprintf("addon-%d", i) }

// measured runs a step on the managed side, and returns what the hub used until it was idle again.
func (a *addOns) measured(ctx context.Context, step func() (time.Duration, error)) (used usage, took time.Duration, err error) {
	before, err := a.managed.usage(ctx)
	if err != nil {
		return usage{}, 0, err
	}
	if took, err = step(); err != nil {
		return usage{}, 0, err
	}
	if err := a.managed.awaitIdle(ctx); err != nil {
		return usage{}, 0, err
	}
	after, err := a.managed.usage(ctx)
	return after.since(before), took, err
}

// install stores an add-on with its configuration, and returns the time until every cluster has it with the configuration to reach.
func (a *addOns) install(ctx context.Context, name string) (time.Duration, error) {
	if err := a.managed.admin.Create(ctx, addOnConfig(name, 0)); err != nil {
		return 0, fmt.Errorf("storing a configuration: %w", err)
	}
	return a.managed.timeAddOns(ctx, name, len(a.clusters), isStarted, func() error { return a.managed.admin.Create(ctx, newAddOn(name)) })
}

// addOnConfig returns the configuration of an add-on in a round of changes.
func addOnConfig(name string, round int) *addonv1alpha1.AddOnDeploymentConfig {
	out := &addonv1alpha1.AddOnDeploymentConfig{ObjectMeta: metav1.ObjectMeta{Namespace: worksNamespace, Name: name}}
	out.Spec.CustomizedVariables = []addonv1alpha1.CustomizedVariable{{Name: "ROUND", Value: strconv.Itoa(round)}}
	return out
}

// newAddOn returns an add-on for every cluster, all at once, with a configuration by default.
func newAddOn(name string) *addonv1alpha1.ClusterManagementAddOn {
	out := &addonv1alpha1.ClusterManagementAddOn{ObjectMeta: metav1.ObjectMeta{Name: name}}
	out.Spec.SupportedConfigs = []addonv1alpha1.ConfigMeta{{
		ConfigGroupResource: addonv1alpha1.ConfigGroupResource{Group: addonv1alpha1.GroupName, Resource: "addondeploymentconfigs"},
		DefaultConfig:       &addonv1alpha1.ConfigReferent{Namespace: worksNamespace, Name: name},
	}}
	out.Spec.InstallStrategy.Type = addonv1alpha1.AddonInstallStrategyPlacements
	out.Spec.InstallStrategy.Placements = []addonv1alpha1.PlacementStrategy{{
		PlacementRef: addonv1alpha1.PlacementRef{Namespace: worksNamespace, Name: worksPlacement},
	}}
	return out
}

// addOnWrites counts what the manager writes: the add-ons of clusters, the status of add-ons, and events.
func addOnWrites(answered hub.Requests) float64 {
	return count(answered, func(r hub.Request) bool {
		return r.Resource == "managedclusteraddons" || r.Resource == "clustermanagementaddons" && r.Subresource == "status" ||
			r.Resource == "events"
	})
}
