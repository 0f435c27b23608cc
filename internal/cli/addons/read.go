package addons

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/addon/plan"
	"github.com/berth-project/berth/internal/kube/reading"
	"github.com/berth-project/berth/internal/source/placed"
)

// pageSize is how many objects a request lists.
const pageSize = 500

// Hub reads the objects of a hub.
type Hub struct {
	client.Reader

	// Mapper finds the kinds of configurations.
	Mapper meta.RESTMapper
}

// NewHub returns a reader of the kinds of this package. It sends no request.
func NewHub(config *rest.Config) (Hub, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{addonv1alpha1.AddToScheme, clusterv1.AddToScheme, clusterv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			return Hub{}, fmt.Errorf("registering types: %w", err)
		}
	}
	out, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return Hub{}, fmt.Errorf("connecting to the hub: %w", err)
	}
	return Hub{out, out.RESTMapper()}, nil
}

// Read reads an add-on and what its plan depends on.
func Read(ctx context.Context, hub Hub, name string, now time.Time) (plan.Input, error) {
	in := plan.Input{
		AddOn: &addonv1alpha1.ClusterManagementAddOn{}, Placements: map[types.NamespacedName]reading.Placement{},
		Clusters: map[string]*clusterv1.ManagedCluster{},
		Configs:  map[plan.Object]plan.Config{}, Now: now,
	}
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, in.AddOn); err != nil {
		return in, withPermission(err, "get clustermanagementaddons", "reading the ClusterManagementAddOn "+name)
	}
	for _, reference := range in.AddOn.Spec.InstallStrategy.Placements {
		key := types.NamespacedName{Namespace: reference.Namespace, Name: reference.Name}
		found, err := placed.Read(ctx, hub, key)
		if err != nil {
			return in, withPermission(err, "get placements and list placementdecisions in the namespace "+key.Namespace, "")
		}
		in.Placements[key] = found
	}
	if err := readInstalled(ctx, hub, &in); err != nil {
		return in, withPermission(err, "list managedclusteraddons in all namespaces", "listing the ManagedClusterAddOns "+name)
	}
	if err := readClusters(ctx, hub, &in); err != nil {
		return in, withPermission(err, "list managedclusters", "listing the clusters")
	}
	for _, object := range plan.Objects(in.AddOn, in.Installed) {
		config, err := readConfig(ctx, hub, object)
		if err != nil {
			return in, withPermission(err, "get "+object.String(), "reading the configuration "+object.String())
		}
		in.Configs[object] = config
	}
	return in, nil
}

// withPermission adds to the error of a request what was done, and the permission that is missing where the API server refused it.
func withPermission(err error, permission, doing string) error {
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("you need the permission to %s: %w", permission, err)
	}
	if doing == "" {
		return err
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// readInstalled reads the ManagedClusterAddOns with the name of the add-on.
func readInstalled(ctx context.Context, hub Hub, in *plan.Input) error {
	next := ""
	for {
		page := &addonv1alpha1.ManagedClusterAddOnList{}
		if err := hub.List(ctx, page, client.MatchingFields{"metadata.name": in.AddOn.Name}, client.Limit(pageSize),
			client.Continue(next)); err != nil {
			return err //nolint:wrapcheck // the caller wraps it
		}
		for i := range page.Items {
			in.Installed = append(in.Installed, &page.Items[i])
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
}

// readClusters reads the clusters. The plan reads their metadata alone.
func readClusters(ctx context.Context, hub Hub, in *plan.Input) error {
	next := ""
	for {
		page := &clusterv1.ManagedClusterList{}
		if err := hub.List(ctx, page, client.Limit(pageSize), client.Continue(next)); err != nil {
			return err //nolint:wrapcheck // the caller wraps it
		}
		for i := range page.Items {
			in.Clusters[page.Items[i].Name] = &clusterv1.ManagedCluster{ObjectMeta: page.Items[i].ObjectMeta}
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
}

// readConfig reads what a plan reads of a configuration.
func readConfig(ctx context.Context, hub Hub, of plan.Object) (plan.Config, error) {
	found := &unstructured.Unstructured{}
	kind, err := hub.Mapper.KindFor(schema.GroupVersionResource{Group: of.Group, Resource: of.Resource})
	if err == nil {
		found.SetGroupVersionKind(kind)
		err = hub.Get(ctx, client.ObjectKey{Namespace: of.Namespace, Name: of.Name}, found)
	}
	switch {
	case apierrors.IsNotFound(err):
		return plan.Config{Fault: "does not exist"}, nil
	case meta.IsNoMatchError(err):
		return plan.Config{Fault: "is of a kind that the hub does not serve"}, nil
	case err != nil:
		return plan.Config{}, err //nolint:wrapcheck // the caller wraps it
	}
	hash, err := plan.SpecHash(found.Object)
	return plan.Config{Hash: hash}, err //nolint:wrapcheck // the caller wraps it
}
