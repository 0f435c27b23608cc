// Package kueue runs the controller that makes a MultiKueueConfig of Kueue from a placement: an AdmissionCheck with the controllerName of
// Open Cluster Management names the Placement, and the clusters that it selected get the workloads of the queue.
//
// It owns the MultiKueueConfigs and MultiKueueClusters with its label, and condition Active of these checks. The unit of work is one list:
// the MultiKueueConfig with the name of a placement. It reads no Secret: an administrator makes the kubeconfig of each cluster. The
// invariants: a list is written from a complete decision only and is never emptied; a cluster that stays selected stays in its list; and an
// object of another client is neither changed nor deleted.
package kueue

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/changes"
	"github.com/berth-project/berth/internal/membership/registration"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "kueue"

const (
	// ControllerName is the controllerName of the checks that name a placement, as Open Cluster Management has it.
	ControllerName = "open-cluster-management.io/placement"
	// DefaultNamespace is the namespace of Kueue.
	DefaultNamespace = "kueue-system"
	// PlacementLabel is on every object of this controller, with the name of the placement or, on a MultiKueueCluster, "true".
	PlacementLabel = "berth-project.io/kueue-placement"

	fieldManager    = client.FieldOwner("berth-kueue")
	conditionActive = "Active"
	// sourceSuffix follows the name of a cluster in the name of the Secret with its kubeconfig.
	sourceSuffix = "-kubeconfig"
)

// Source is where Kueue finds the clusters of a list.
type Source string

// The sources.
const (
	// SourceSecret is a Secret in Kueue's namespace with the kubeconfig of a cluster.
	SourceSecret Source = "Secret"
	// SourceProfile is a ClusterProfile in Kueue's namespace. Kueue needs its feature gate MultiKueueClusterProfile.
	SourceProfile Source = "ClusterProfile"
)

// The kinds of Kueue.
const (
	checkKind   = "AdmissionCheck"
	configKind  = "MultiKueueConfig"
	clusterKind = "MultiKueueCluster"
)

// groupVersion is that of Kueue's kinds.
func groupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "kueue.x-k8s.io", Version: "v1beta2"}
}

// Add adds the controller to a manager. The hub must have Kueue's definitions.
func Add(mgr manager.Manager, options Options) error {
	for _, kind := range options.kinds() {
		if _, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version); err != nil {
			return fmt.Errorf("adding the kueue controller: the hub does not serve %s of %s; install its definition, or leave "+
				"kueue out of --controllers: %w", kind.Kind, kind.GroupVersion(), err)
		}
	}
	r := &reconciler{cache: mgr.GetCache(), live: mgr.GetAPIReader(), client: mgr.GetClient(), options: options}
	existence := builder.WithPredicates(changes.Existence())
	b := builder.ControllerManagedBy(mgr).
		Named(Name).
		Watches(object(checkKind), handler.EnqueueRequestsFromMapFunc(listOfCheck)).
		Watches(object(configKind), handler.EnqueueRequestsFromMapFunc(r.listsOfConfig)).
		Watches(object(clusterKind), handler.EnqueueRequestsFromMapFunc(r.listsOfCluster), existence).
		Watches(&clusterv1beta1.Placement{}, handler.EnqueueRequestsFromMapFunc(r.listOfPlacement)).
		Watches(&clusterv1beta1.PlacementDecision{}, handler.EnqueueRequestsFromMapFunc(r.listOfPlacement))
	if options.Source == SourceProfile {
		b = b.Watches(&multiclusterv1alpha1.ClusterProfile{}, handler.EnqueueRequestsFromMapFunc(r.listsOfProfile), existence).
			Watches(&clusterv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(r.listsOfImported),
				builder.WithPredicates(changes.Of(registration.ImportChanged)))
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("adding the kueue controller: %w", err)
	}
	return nil
}

// object returns an empty object of a kind of Kueue. Its types are in no module.
func object(kind string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(groupVersion().WithKind(kind))
	return out
}

// list returns the objects of a kind of Kueue. With the cache as the reader, it fails only when the context has ended.
func list(ctx context.Context, reader client.Reader, kind string) ([]unstructured.Unstructured, error) {
	out := &unstructured.UnstructuredList{}
	out.SetGroupVersionKind(groupVersion().WithKind(kind + "List"))
	if err := reader.List(ctx, out); err != nil {
		return nil, fmt.Errorf("listing %ss: %w", kind, err)
	}
	return out.Items, nil
}

// reconciler reconciles lists.
type reconciler struct {
	// cache reads what the controller watches. Every write is fenced, so that a cache that is behind costs a conflict.
	cache client.Reader
	// live reads from the API server before a deletion, whose reason is that an object is not there.
	live    client.Reader
	client  client.Client
	options Options
}

// requestFor returns the request of a list. The name is empty for the checks that name no placement.
func requestFor(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}
}

// listOfCheck returns the list of a check. A check that changes wakes the list of its former placement too.
func listOfCheck(_ context.Context, check client.Object) []reconcile.Request {
	if found, ok := check.(*unstructured.Unstructured); ok && isOurs(found) {
		return []reconcile.Request{requestFor(placementOf(found))}
	}
	return nil
}

// listsOfConfig returns the list of a config, and the lists that one of its checks had before: they wait for this one.
func (r *reconciler) listsOfConfig(ctx context.Context, config client.Object) []reconcile.Request {
	out := []reconcile.Request{requestFor(config.GetName())}
	found, err := list(ctx, r.cache, configKind)
	if err != nil {
		return out // the context has ended
	}
	owners := checkUIDs(config)
	for i := range found {
		if each := &found[i]; each.GetName() != config.GetName() && owners.HasAny(checkUIDs(each).UnsortedList()...) {
			out = append(out, requestFor(each.GetName()))
		}
	}
	return out
}

// listsOfCluster returns the lists that have a MultiKueueCluster. Any request removes a MultiKueueCluster that is in no list.
func (r *reconciler) listsOfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	found, err := list(ctx, r.cache, configKind)
	if err != nil {
		return nil // the context has ended
	}
	var out []reconcile.Request
	for i := range found {
		if clustersOf(&found[i]).Has(cluster.GetName()) {
			out = append(out, requestFor(found[i].GetName()))
		}
	}
	if len(out) == 0 {
		out = append(out, requestFor(""))
	}
	return out
}

// listOfPlacement returns the list of a placement, or of the placement of a slice.
func (r *reconciler) listOfPlacement(_ context.Context, changed client.Object) []reconcile.Request {
	if changed.GetNamespace() != r.options.Namespace {
		return nil
	}
	if placement, isSlice := changed.GetLabels()[clusterv1beta1.PlacementLabel]; isSlice {
		return []reconcile.Request{requestFor(placement)}
	}
	return []reconcile.Request{requestFor(changed.GetName())}
}

// listsOfProfile returns the lists of all checks, where a profile is in Kueue's namespace.
func (r *reconciler) listsOfProfile(ctx context.Context, profile client.Object) []reconcile.Request {
	if profile.GetNamespace() != r.options.Namespace {
		return nil
	}
	return r.listsOfChecks(ctx)
}

// listsOfImported returns the lists of all checks, where a cluster is imported from Kueue's namespace.
func (r *reconciler) listsOfImported(ctx context.Context, cluster client.Object) []reconcile.Request {
	if !strings.HasPrefix(cluster.GetAnnotations()[clusterv1.InventoryProfileAnnotationKey], r.options.Namespace+"/") {
		return nil
	}
	return r.listsOfChecks(ctx)
}

// listsOfChecks returns the lists of all checks.
func (r *reconciler) listsOfChecks(ctx context.Context) []reconcile.Request {
	checks, err := checksOf(ctx, r.cache)
	if err != nil {
		return nil // the context has ended
	}
	out := make([]reconcile.Request, 0, len(checks))
	for _, check := range checks {
		out = append(out, requestFor(placementOf(check)))
	}
	return out
}

// checksOf returns the checks that name this controller, by name.
func checksOf(ctx context.Context, reader client.Reader) ([]*unstructured.Unstructured, error) {
	found, err := list(ctx, reader, checkKind)
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for i := range found {
		if isOurs(&found[i]) {
			out = append(out, &found[i])
		}
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out, nil
}

// isOurs returns whether a check names this controller.
func isOurs(check *unstructured.Unstructured) bool {
	name, _, _ := unstructured.NestedString(check.Object, "spec", "controllerName")
	return name == ControllerName
}

// placementOf returns the placement that the parameters of a check name; empty where they name none.
func placementOf(check *unstructured.Unstructured) string {
	parameters, _, _ := unstructured.NestedStringMap(check.Object, "spec", "parameters")
	if parameters["apiGroup"] != clusterv1beta1.GroupName || parameters["kind"] != "Placement" {
		return ""
	}
	return parameters["name"]
}

// Reconcile writes the clusters of a list, the list, and then condition Active of its checks.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, apply.Timeout)
	defer cancel()
	in, err := r.gather(ctx, request.Name)
	if err == nil {
		err = r.write(ctx, in)
	}
	return apply.Result(ctx, 0, err)
}

// gather reads what the plan of a list needs.
func (r *reconciler) gather(ctx context.Context, name string) (input, error) {
	in := input{name: name, namespace: r.options.Namespace}
	checks, err := checksOf(ctx, r.cache)
	if err != nil {
		return in, err
	}
	for _, check := range checks {
		if placementOf(check) == name {
			in.checks = append(in.checks, check)
		}
	}
	if name == "" {
		return in, nil
	}
	config := object(configKind)
	switch err := r.cache.Get(ctx, client.ObjectKey{Name: name}, config); {
	case err == nil:
		in.config = config
	case client.IgnoreNotFound(err) != nil:
		return in, fmt.Errorf("reading MultiKueueConfig %s: %w", name, err)
	}
	if len(in.checks) == 0 {
		return in, nil
	}
	if err := r.gatherDecision(ctx, &in); err != nil {
		return in, err
	}
	return in, r.gatherSources(ctx, &in)
}

// gatherDecision reads the placement of a list and its slices.
func (r *reconciler) gatherDecision(ctx context.Context, in *input) error {
	placement := &clusterv1beta1.Placement{}
	switch err := r.cache.Get(ctx, client.ObjectKey{Namespace: in.namespace, Name: in.name}, placement); {
	case err == nil:
		in.placement = placement
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("reading Placement %s/%s: %w", in.namespace, in.name, err)
	}
	found := &clusterv1beta1.PlacementDecisionList{}
	if err := r.cache.List(ctx, found, client.InNamespace(in.namespace), client.MatchingLabels{clusterv1beta1.PlacementLabel: in.name},
		client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the decisions of Placement %s/%s: %w", in.namespace, in.name, err)
	}
	for i := range found.Items {
		in.slices = append(in.slices, &found.Items[i])
	}
	return nil
}

// gatherSources reads which clusters Kueue finds, or will find once they have a MultiKueueCluster.
func (r *reconciler) gatherSources(ctx context.Context, in *input) error {
	clusters, err := list(ctx, r.cache, clusterKind)
	if err != nil {
		return err
	}
	in.stored = sets.New[string]()
	for i := range clusters {
		in.stored.Insert(clusters[i].GetName())
	}
	if r.options.Source != SourceProfile {
		return nil
	}
	byProfile := sets.New[string]() // the MultiKueueClusters of this controller that refer to the profile of their name
	for i := range clusters {
		profile, _, _ := unstructured.NestedString(clusters[i].Object, "spec", "clusterSource", "clusterProfileRef", "name")
		if profile == clusters[i].GetName() && clusters[i].GetLabels()[PlacementLabel] != "" {
			byProfile.Insert(profile)
		}
	}
	in.profiles, in.unusable = sets.New[string](), sets.New[string]()
	found := &multiclusterv1alpha1.ClusterProfileList{}
	if err := r.cache.List(ctx, found, client.InNamespace(in.namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the profiles in namespace %s: %w", in.namespace, err)
	}
	for i := range found.Items {
		usable, replaced, err := r.usable(ctx, &found.Items[i])
		if err != nil {
			return err
		}
		switch name := found.Items[i].Name; {
		case usable:
			in.profiles.Insert(name)
		case replaced && byProfile.Has(name):
			in.unusable.Insert(name)
		}
	}
	return nil
}

// usable reports whether a profile is of the cluster of its name: a profile of this cluster manager, or the profile that the cluster is
// imported from. Any other profile may be of another cluster. Replaced is set where the profile that the cluster is imported from was of
// another cluster manager.
func (r *reconciler) usable(ctx context.Context, profile *multiclusterv1alpha1.ClusterProfile) (usable, replaced bool, err error) {
	if profile.Spec.ClusterManager.Name == r.options.Manager {
		return true, false, nil
	}
	cluster := &clusterv1.ManagedCluster{}
	if err := r.cache.Get(ctx, client.ObjectKey{Name: profile.Name}, cluster); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return false, false, nil
		}
		return false, false, fmt.Errorf("reading ManagedCluster %s: %w", profile.Name, err)
	}
	usable, replaced = registration.FollowsProfile(cluster, client.ObjectKeyFromObject(profile).String(), profile.Spec.ClusterManager.Name)
	return usable, replaced, nil
}
