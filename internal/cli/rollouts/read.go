package rollouts

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/delivery/report"
)

// pageSize is how many works a request lists. Works may have 500 KiB each.
const pageSize = 100

// NewClient returns a client of the kinds of this package. It sends no request.
func NewClient(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, authenticationv1.AddToScheme, coordinationv1.AddToScheme, clusterv1.AddToScheme,
		clusterv1beta1.AddToScheme, clusterv1beta2.AddToScheme, rolloutv1alpha1.AddToScheme, workv1.AddToScheme, workv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("ControllerRevision"), meta.RESTScopeNamespace)
	mapper.Add(authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"), meta.RESTScopeRoot)
	mapper.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), meta.RESTScopeNamespace)
	mapper.Add(clusterv1.GroupVersion.WithKind("ManagedCluster"), meta.RESTScopeRoot)
	mapper.Add(clusterv1beta1.GroupVersion.WithKind("Placement"), meta.RESTScopeNamespace)
	mapper.Add(clusterv1beta1.GroupVersion.WithKind("PlacementDecision"), meta.RESTScopeNamespace)
	mapper.Add(clusterv1beta2.GroupVersion.WithKind("ManagedClusterSet"), meta.RESTScopeRoot)
	mapper.Add(workv1.GroupVersion.WithKind("ManifestWork"), meta.RESTScopeNamespace)
	mapper.Add(workv1alpha1.GroupVersion.WithKind("ManifestWorkReplicaSet"), meta.RESTScopeNamespace)
	mapper.Add(rolloutv1alpha1.GroupVersion.WithKind("RolloutControl"), meta.RESTScopeNamespace)
	mapper.Add(rolloutv1alpha1.GroupVersion.WithKind("FormerTemplate"), meta.RESTScopeNamespace)
	out, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub: %w", err)
	}
	return out, nil
}

// Delivery is a set with what its plan depends on.
type Delivery struct {
	Set        *workv1alpha1.ManifestWorkReplicaSet
	Placements map[string]plan.Placement
	// Control is what people decided about the rollout; nil for nothing, or where the caller may not read it.
	Control *rolloutv1alpha1.RolloutControl
	// Former is the template of status.currentRevision; nil where it is not kept or was not read.
	Former *workv1.ManifestWorkSpec
	// Works are the works of the set, without their manifests. WorksHidden is set if the caller may not list them, or
	// not the kept templates, or not the clusters that the overrides read.
	Works       []*workv1.ManifestWork
	WorksHidden bool
	// Clusters are the clusters that the overrides of the set read, by name. A set without overrides reads none.
	Clusters map[string]*clusterv1.ManagedCluster
	// Specs are the specs that works have, by the hash of their template.
	Specs map[string]*workv1.ManifestWorkSpec
	// Manifests are the objects that the agents report, by cluster.
	Manifests map[string][]report.Manifest
}

// addWork adds a work. Its spec is kept once for all works with its template.
func (d *Delivery) addWork(work *workv1.ManifestWork) {
	hash := work.Annotations[workv1.TemplateHashAnnotation]
	if d.Specs == nil {
		d.Specs, d.Manifests = map[string]*workv1.ManifestWorkSpec{}, map[string][]report.Manifest{}
	}
	d.Manifests[work.Namespace] = report.Manifests(work)
	if _, known := d.Specs[hash]; !known && plan.IsCurrent(work, hash) {
		d.Specs[hash] = work.Spec.DeepCopy()
	}
	d.Works = append(d.Works, work)
}

// Read reads a set, its placements, their decisions, and where the caller may, its works and its former template.
func Read(ctx context.Context, hub client.Reader, key client.ObjectKey) (Delivery, error) {
	out := Delivery{Set: &workv1alpha1.ManifestWorkReplicaSet{}, Placements: map[string]plan.Placement{}}
	if err := hub.Get(ctx, key, out.Set); err != nil {
		return out, fmt.Errorf("reading the set %s: %w", key, err)
	}
	if err := out.readPlacements(ctx, hub, out.Set); err != nil {
		return out, err
	}
	var err error
	if out.Control, err = ReadControl(ctx, hub, key); err != nil {
		return out, err
	}
	err = out.readWorks(ctx, hub)
	if err == nil && len(out.Set.Spec.Overrides) > 0 {
		err = out.ReadClusters(ctx, hub)
	}
	if err == nil {
		out.Former, err = (&FormerReader{Hub: hub}).Read(ctx, out.Set)
	}
	if apierrors.IsForbidden(err) {
		out.Works, out.WorksHidden, err = nil, true, nil
	}
	return out, err
}

// ReadNew returns what the plan of a set depends on that is not stored yet.
func ReadNew(ctx context.Context, hub client.Reader, set *workv1alpha1.ManifestWorkReplicaSet) (Delivery, error) {
	out := Delivery{Set: set, Placements: map[string]plan.Placement{}}
	return out, out.readPlacements(ctx, hub, set)
}

// readPlacements reads the placements that a set names, and their decisions.
func (d *Delivery) readPlacements(ctx context.Context, hub client.Reader, set *workv1alpha1.ManifestWorkReplicaSet) error {
	for _, ref := range set.Spec.PlacementRefs {
		placement, err := readPlacement(ctx, hub, client.ObjectKey{Namespace: set.Namespace, Name: ref.Name})
		if err != nil {
			return err
		}
		d.Placements[ref.Name] = placement
	}
	return nil
}

// SetsOf returns the names of the sets of a namespace that refer to a placement, sorted.
func SetsOf(ctx context.Context, hub client.Reader, namespace, placement string) ([]string, error) {
	list := &workv1alpha1.ManifestWorkReplicaSetList{}
	if err := hub.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing the sets of the namespace %s: %w", namespace, err)
	}
	var out []string
	for i := range list.Items {
		if refersTo(&list.Items[i], placement) {
			out = append(out, list.Items[i].Name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// readPlacement returns a placement with its decisions; a missing one is without an object.
func readPlacement(ctx context.Context, hub client.Reader, key client.ObjectKey) (plan.Placement, error) {
	object := &clusterv1beta1.Placement{}
	err := hub.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		return plan.Placement{}, nil
	}
	if err != nil {
		return plan.Placement{}, fmt.Errorf("reading the placement %s: %w", key, err)
	}
	stored := &clusterv1beta1.PlacementDecisionList{}
	if err := hub.List(ctx, stored, client.InNamespace(key.Namespace),
		client.MatchingLabels{clusterv1beta1.PlacementLabel: key.Name}); err != nil {
		return plan.Placement{}, fmt.Errorf("listing the decisions of the placement %s: %w", key, err)
	}
	return plan.Placement{Object: object, Decisions: decision.OfList(stored)}, nil
}

func (d *Delivery) readWorks(ctx context.Context, hub client.Reader) error {
	of := client.MatchingLabels{workv1.ReplicaSetLabel: plan.SetLabelValue(d.Set.Namespace, d.Set.Name)}
	next := ""
	for {
		page := &workv1.ManifestWorkList{}
		if err := hub.List(ctx, page, of, client.Limit(pageSize), client.Continue(next)); err != nil {
			return fmt.Errorf("listing the works of the set: %w", err)
		}
		for i := range page.Items {
			work := &page.Items[i]
			d.addWork(work)
			plan.Strip(work)
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
}

// input returns what the manager plans from at an instant. Without works it is not meaningful.
func (d *Delivery) input(now time.Time) (plan.Input, error) {
	hash, err := plan.TemplateHash(&d.Set.Spec.ManifestWorkTemplate)
	if err != nil {
		return plan.Input{}, fmt.Errorf("hashing the template: %w", err)
	}
	out := plan.Input{
		Set: d.Set, Hash: hash, Placements: d.Placements, Works: d.Works, Control: d.Control, Now: now, FinishedBefore: true,
		Unknown: map[string]string{},
	}
	for name, cluster := range d.Clusters {
		if why := report.Unknown(cluster); why != "" {
			out.Unknown[name] = why
		}
	}
	rendered, err := d.rendering(hash)
	if err != nil {
		return plan.Input{}, err
	}
	out.Kept = map[string]bool{hash: true}
	if d.Former != nil {
		out.Kept[d.Set.Status.CurrentRevision] = true
		out.Obstacle = plan.ReturnObstacle(&d.Set.Spec.ManifestWorkTemplate, d.Former)
	}
	rendered.addTo(&out, d.Former)
	return out, nil
}

// NewReport returns the report at an instant. Where works were read, it comes from them, by the planner of the manager, else from
// the status of the set.
func NewReport(d Delivery, now time.Time) (report.Report, error) {
	if d.WorksHidden {
		out := report.FromStatus(d.Set)
		out.SetControl(d.Control, d.Set.Status.Rollout)
		return out, nil
	}
	in, err := d.input(now)
	if err != nil {
		return report.Report{}, err
	}
	out := report.New(in)
	out.SetControl(d.Control, d.Set.Status.Rollout)
	return out, nil
}
