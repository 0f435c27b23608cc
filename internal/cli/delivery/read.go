package delivery

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	planner "github.com/berth-project/berth/internal/delivery"
)

// pageSize is how many works a request lists. Works may have 500 KiB each.
const pageSize = 100

// NewClient returns a client of the kinds of this package. It sends no request.
func NewClient(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, clusterv1beta1.AddToScheme, workv1.AddToScheme, workv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("ControllerRevision"), meta.RESTScopeNamespace)
	mapper.Add(clusterv1beta1.GroupVersion.WithKind("Placement"), meta.RESTScopeNamespace)
	mapper.Add(clusterv1beta1.GroupVersion.WithKind("PlacementDecision"), meta.RESTScopeNamespace)
	mapper.Add(workv1.GroupVersion.WithKind("ManifestWork"), meta.RESTScopeNamespace)
	mapper.Add(workv1alpha1.GroupVersion.WithKind("ManifestWorkReplicaSet"), meta.RESTScopeNamespace)
	out, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub: %w", err)
	}
	return out, nil
}

// Delivery is a set with what its plan depends on.
type Delivery struct {
	Set        *workv1alpha1.ManifestWorkReplicaSet
	Placements map[string]planner.Placement
	// Works are the works of the set, without their manifests. WorksHidden is set if the caller may not list them.
	Works       []*workv1.ManifestWork
	WorksHidden bool
}

// Read reads a set, its placements, their decisions, and its works where the caller may list works.
func Read(ctx context.Context, hub client.Reader, key client.ObjectKey) (Delivery, error) {
	out := Delivery{Set: &workv1alpha1.ManifestWorkReplicaSet{}, Placements: map[string]planner.Placement{}}
	if err := hub.Get(ctx, key, out.Set); err != nil {
		return out, fmt.Errorf("reading the set %s: %w", key, err)
	}
	for _, ref := range out.Set.Spec.PlacementRefs {
		placement, err := readPlacement(ctx, hub, client.ObjectKey{Namespace: key.Namespace, Name: ref.Name})
		if err != nil {
			return out, err
		}
		out.Placements[ref.Name] = placement
	}
	err := out.readWorks(ctx, hub)
	if apierrors.IsForbidden(err) {
		out.Works, out.WorksHidden, err = nil, true, nil
	}
	return out, err
}

// readPlacement returns a placement with its decisions; a missing one is without an object.
func readPlacement(ctx context.Context, hub client.Reader, key client.ObjectKey) (planner.Placement, error) {
	object := &clusterv1beta1.Placement{}
	err := hub.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		return planner.Placement{}, nil
	}
	if err != nil {
		return planner.Placement{}, fmt.Errorf("reading the placement %s: %w", key, err)
	}
	slices := &clusterv1beta1.PlacementDecisionList{}
	if err := hub.List(ctx, slices, client.InNamespace(key.Namespace), client.MatchingLabels{clusterv1beta1.PlacementLabel: key.Name}); err != nil {
		return planner.Placement{}, fmt.Errorf("listing the decisions of the placement %s: %w", key, err)
	}
	return planner.Placement{Object: object, Decisions: decision.OfList(slices)}, nil
}

func (d *Delivery) readWorks(ctx context.Context, hub client.Reader) error {
	of := client.MatchingLabels{workv1.ReplicaSetLabel: planner.SetLabelValue(d.Set.Namespace, d.Set.Name)}
	next := ""
	for {
		page := &workv1.ManifestWorkList{}
		if err := hub.List(ctx, page, of, client.Limit(pageSize), client.Continue(next)); err != nil {
			return fmt.Errorf("listing the works of the set: %w", err)
		}
		for i := range page.Items {
			d.Works = append(d.Works, planner.Strip(&page.Items[i]))
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
}

// plan returns what the manager would do at an instant. Without works it is not meaningful.
func (d *Delivery) plan(now time.Time) (planner.Result, error) {
	hash, err := planner.TemplateHash(&d.Set.Spec.ManifestWorkTemplate)
	if err != nil {
		return planner.Result{}, fmt.Errorf("hashing the template: %w", err)
	}
	return planner.Plan(planner.Input{Set: d.Set, Hash: hash, Placements: d.Placements, Works: d.Works, Now: now}), nil
}
