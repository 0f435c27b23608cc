// Package delivery reads how far the ManifestWorkReplicaSets of a hub are, and prints it.
//
// The states are those of package internal/delivery, computed here from stored objects by the code of the controller. It owns the
// reads, the printed forms, and the patches that hold and continue a rollout. The package internal/cli has the commands.
package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/delivery"
)

// pageSize is how many works are read at a time.
const pageSize = 500

// Delivery is a set and how far it is.
type Delivery struct {
	Set *workv1alpha1.ManifestWorkReplicaSet
	// Plan is what the controller would write and report. It is empty where Hidden is set.
	Plan delivery.Result
	// Hidden is set where the caller may not list the works of all clusters. Only the status of the set is known then.
	Hidden bool
}

// NewClient returns a client of a hub for the kinds of delivery. It sends no request.
func NewClient(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clusterv1beta1.AddToScheme, workv1.AddToScheme, workv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	out, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("making a client of the hub: %w", err)
	}
	return out, nil
}

// Read reads a set and everything that its plan follows from.
func Read(ctx context.Context, hub client.Reader, key client.ObjectKey, now time.Time) (*Delivery, error) {
	out := &Delivery{Set: &workv1alpha1.ManifestWorkReplicaSet{}}
	if err := hub.Get(ctx, key, out.Set); err != nil {
		return nil, fmt.Errorf("reading ManifestWorkReplicaSet %s: %w", key, err)
	}
	works, err := readWorks(ctx, hub, key)
	if apierrors.IsForbidden(err) {
		out.Hidden = true
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	out.Plan, err = planOf(ctx, hub, out.Set, works, now)
	return out, err
}

// planOf plans a set as it is given over the placements of the hub.
func planOf(ctx context.Context, hub client.Reader, set *workv1alpha1.ManifestWorkReplicaSet, works []*workv1.ManifestWork, now time.Time) (delivery.Result, error) {
	in := delivery.Input{Set: set, Works: works, Placements: map[string]delivery.Placement{}, Now: now}
	var err error
	if in.Hash, err = delivery.TemplateHash(&set.Spec.ManifestWorkTemplate); err != nil {
		return delivery.Result{}, fmt.Errorf("reading the template of %s/%s: %w", set.Namespace, set.Name, err)
	}
	for _, ref := range set.Spec.PlacementRefs {
		key := client.ObjectKey{Namespace: set.Namespace, Name: ref.Name}
		placement := &clusterv1beta1.Placement{}
		err := hub.Get(ctx, key, placement)
		if apierrors.IsNotFound(err) {
			continue // the plan reports it
		}
		list := &clusterv1beta1.PlacementDecisionList{}
		listed := hub.List(ctx, list, client.InNamespace(key.Namespace), client.MatchingLabels{clusterv1beta1.PlacementLabel: key.Name})
		if err := errors.Join(err, listed); err != nil {
			return delivery.Result{}, fmt.Errorf("reading placement %s: %w", key, err)
		}
		in.Placements[ref.Name] = delivery.Placement{Object: placement, Decisions: decision.OfList(list)}
	}
	return delivery.Plan(in), nil
}

// readWorks reads the works of a set in all clusters, without their manifests.
func readWorks(ctx context.Context, hub client.Reader, set client.ObjectKey) ([]*workv1.ManifestWork, error) {
	var out []*workv1.ManifestWork
	options := &client.ListOptions{Limit: pageSize}
	client.MatchingLabels{workv1.ReplicaSetLabel: delivery.SetLabelValue(set.Namespace, set.Name)}.ApplyToList(options)
	for {
		page := &workv1.ManifestWorkList{}
		if err := hub.List(ctx, page, options); err != nil {
			return nil, fmt.Errorf("reading the works of %s: %w", set, err)
		}
		for i := range page.Items {
			out = append(out, delivery.Strip(&page.Items[i]))
		}
		if page.Continue == "" {
			return out, nil
		}
		options.Continue = page.Continue
	}
}
