// Package kueue runs the controller that makes a MultiKueueConfig of Kueue from a placement: an AdmissionCheck with the controllerName of
// Open Cluster Management names the Placement, and the clusters that it selected get the workloads of the queue.
//
// It owns the MultiKueueConfigs and MultiKueueClusters with its label, and condition Active of these checks. It reads no Secret: an
// administrator makes the kubeconfig of each cluster. The invariants: a list is written from a complete decision only and is never emptied,
// and an object of another client is neither changed nor deleted.
package kueue

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/internal/apply"
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

// Options configures the controller.
type Options struct {
	// Namespace is that of Kueue, of the placements of its checks, and of the kubeconfigs of clusters.
	Namespace string
}

// Add adds the controller to a manager. The hub must have Kueue's definitions.
func Add(mgr manager.Manager, options Options) error {
	for _, kind := range []string{checkKind, configKind, clusterKind} {
		if _, err := mgr.GetRESTMapper().RESTMapping(schema.GroupKind{Group: groupVersion().Group, Kind: kind}, groupVersion().Version); err != nil {
			return fmt.Errorf("adding the kueue controller: the hub does not serve %s of %s; install Kueue, or leave kueue out of --controllers: %w", kind, groupVersion(), err)
		}
	}
	r := &reconciler{client: mgr.GetClient(), live: mgr.GetAPIReader(), namespace: options.Namespace}
	err := builder.ControllerManagedBy(mgr).
		Named(Name).
		For(object(checkKind)).
		Watches(object(configKind), handler.EnqueueRequestsFromMapFunc(r.checksOfConfig)).
		Watches(&clusterv1beta1.Placement{}, handler.EnqueueRequestsFromMapFunc(r.checksOfPlacement)).
		Watches(&clusterv1beta1.PlacementDecision{}, handler.EnqueueRequestsFromMapFunc(r.checksOfPlacement)).
		Complete(r)
	if err != nil {
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

func listOf(kind string) *unstructured.UnstructuredList {
	out := &unstructured.UnstructuredList{}
	out.SetGroupVersionKind(groupVersion().WithKind(kind + "List"))
	return out
}

// reconciler reconciles checks.
type reconciler struct {
	// client reads placements and decisions from a cache, and objects without a type from the API server.
	client client.Client
	// live reads profiles from the API server, without a cache.
	live      client.Reader
	namespace string
}

// checksOfConfig returns the checks of a placement by the config that is named after it, and those that owned it: the garbage collector
// removes a config without checks.
func (r *reconciler) checksOfConfig(ctx context.Context, config client.Object) []reconcile.Request {
	out := r.checksOf(ctx, config.GetName())
	for _, owner := range config.GetOwnerReferences() {
		if owner.Kind == checkKind {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKey{Name: owner.Name}})
		}
	}
	return out
}

// checksOfPlacement returns the checks of a placement, or of the placement of a slice.
func (r *reconciler) checksOfPlacement(ctx context.Context, changed client.Object) []reconcile.Request {
	if changed.GetNamespace() != r.namespace {
		return nil
	}
	if placement, isSlice := changed.GetLabels()[clusterv1beta1.PlacementLabel]; isSlice {
		return r.checksOf(ctx, placement)
	}
	return r.checksOf(ctx, changed.GetName())
}

func (r *reconciler) checksOf(ctx context.Context, placement string) []reconcile.Request {
	found, err := r.listChecks(ctx, placement)
	if err != nil {
		log.FromContext(ctx).Error(err, "the checks of a placement are not updated before its next change", "placement", placement)
	}
	var out []reconcile.Request
	for _, check := range found {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKey{Name: check.GetName()}})
	}
	return out
}

// listChecks returns the checks of a placement, by name, without those that are being deleted.
func (r *reconciler) listChecks(ctx context.Context, placement string) ([]*unstructured.Unstructured, error) {
	found := listOf(checkKind)
	if err := r.client.List(ctx, found); err != nil {
		return nil, fmt.Errorf("listing AdmissionChecks: %w", err)
	}
	var out []*unstructured.Unstructured
	for i := range found.Items {
		if check := &found.Items[i]; isOurs(check) && placementOf(check) == placement && check.GetDeletionTimestamp() == nil {
			out = append(out, check)
		}
	}
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

// Reconcile writes the clusters of a check, the list, and then condition Active.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, apply.Timeout)
	defer cancel()
	check := object(checkKind)
	switch err := r.client.Get(ctx, request.NamespacedName, check); {
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, r.removeClusters(ctx)
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("reading AdmissionCheck %s: %w", request.Name, err)
	case !isOurs(check) || check.GetDeletionTimestamp() != nil:
		return reconcile.Result{}, nil
	}
	in, err := r.read(ctx, check)
	if err != nil {
		return reconcile.Result{}, err
	}
	out := plan(in)
	if len(out.clusters) > 0 {
		for _, name := range out.clusters {
			if err := r.addCluster(ctx, name); err != nil {
				return reconcile.Result{}, err
			}
		}
		if err := r.writeConfig(ctx, in, out.clusters); err != nil {
			return reconcile.Result{}, err
		}
		if err := r.removeClusters(ctx); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, r.report(ctx, check, out)
}

// read reads what the plan of a check needs.
func (r *reconciler) read(ctx context.Context, check *unstructured.Unstructured) (input, error) {
	in := input{name: placementOf(check)}
	if in.name == "" {
		return in, nil
	}
	config := object(configKind)
	switch err := r.client.Get(ctx, client.ObjectKey{Name: in.name}, config); {
	case err == nil:
		in.listed, _, _ = unstructured.NestedStringSlice(config.Object, "spec", "clusters")
		in.owners = config.GetOwnerReferences()
		in.foreign = config.GetLabels()[PlacementLabel] != in.name
	case client.IgnoreNotFound(err) != nil:
		return in, fmt.Errorf("reading MultiKueueConfig %s: %w", in.name, err)
	}
	placement := &clusterv1beta1.Placement{}
	switch err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: in.name}, placement); {
	case err == nil:
		in.placement = placement
	case client.IgnoreNotFound(err) != nil:
		return in, fmt.Errorf("reading Placement %s/%s: %w", r.namespace, in.name, err)
	}
	found := &clusterv1beta1.PlacementDecisionList{}
	if err := r.client.List(ctx, found, client.InNamespace(r.namespace), client.MatchingLabels{clusterv1beta1.PlacementLabel: in.name}); err != nil {
		return in, fmt.Errorf("listing the decisions of Placement %s/%s: %w", r.namespace, in.name, err)
	}
	for i := range found.Items {
		in.slices = append(in.slices, &found.Items[i])
	}
	return in, nil
}

// addCluster creates the MultiKueueCluster of a cluster. A MultiKueueCluster that exists stays as it is, because its source may be in use.
func (r *reconciler) addCluster(ctx context.Context, name string) error {
	wanted := object(clusterKind)
	err := r.client.Get(ctx, client.ObjectKey{Name: name}, wanted)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading MultiKueueCluster %s: %w", name, err)
	}
	if err == nil {
		return nil
	}
	source, err := r.source(ctx, name)
	if err != nil {
		return err
	}
	wanted = object(clusterKind)
	wanted.SetName(name)
	wanted.SetLabels(map[string]string{PlacementLabel: "true"})
	wanted.Object["spec"] = map[string]any{"clusterSource": source}
	if err := r.client.Create(ctx, wanted, fieldManager); err != nil {
		return fmt.Errorf("creating MultiKueueCluster %s: %w", name, err)
	}
	return nil
}

// source returns where Kueue finds a cluster: by its ClusterProfile where the hub has one, else by a kubeconfig in a Secret.
func (r *reconciler) source(ctx context.Context, name string) (map[string]any, error) {
	err := r.live.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, &multiclusterv1alpha1.ClusterProfile{})
	switch {
	case err == nil:
		return map[string]any{"clusterProfileRef": map[string]any{"name": name}}, nil
	case meta.IsNoMatchError(err) || client.IgnoreNotFound(err) == nil:
		return map[string]any{"kubeConfig": map[string]any{"locationType": "Secret", "location": name + sourceSuffix}}, nil
	default:
		return nil, fmt.Errorf("reading ClusterProfile %s/%s: %w", r.namespace, name, err)
	}
}

// writeConfig stores the list. All checks of the placement own it, so that it goes with the last of them.
func (r *reconciler) writeConfig(ctx context.Context, in input, list []string) error {
	checks, err := r.listChecks(ctx, in.name)
	if err != nil {
		return err
	}
	owners := make([]metav1.OwnerReference, 0, len(checks))
	for _, check := range checks {
		owners = append(owners, metav1.OwnerReference{APIVersion: groupVersion().String(), Kind: checkKind, Name: check.GetName(), UID: check.GetUID()})
	}
	if slices.Equal(in.listed, list) && sameOwners(in.owners, owners) {
		return nil
	}
	config := object(configKind)
	config.SetName(in.name)
	config.SetLabels(map[string]string{PlacementLabel: in.name})
	config.SetOwnerReferences(owners)
	if err := unstructured.SetNestedStringSlice(config.Object, list, "spec", "clusters"); err != nil {
		return fmt.Errorf("making MultiKueueConfig %s: %w", in.name, err)
	}
	if err := r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(config), fieldManager, client.ForceOwnership); err != nil {
		return fmt.Errorf("writing MultiKueueConfig %s: %w", in.name, err)
	}
	return nil
}

// sameOwners returns whether every wanted owner is stored, and no other check.
func sameOwners(stored, wanted []metav1.OwnerReference) bool {
	uids := func(in []metav1.OwnerReference) []string {
		var out []string
		for _, owner := range in {
			if owner.Kind == checkKind {
				out = append(out, string(owner.UID))
			}
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(uids(stored), uids(wanted))
}

// removeClusters deletes the MultiKueueClusters of this controller that no MultiKueueConfig lists.
func (r *reconciler) removeClusters(ctx context.Context) error {
	lists, ours := listOf(configKind), listOf(clusterKind)
	if err := r.client.List(ctx, lists); err != nil {
		return fmt.Errorf("listing MultiKueueConfigs: %w", err)
	}
	if err := r.client.List(ctx, ours, client.MatchingLabels{PlacementLabel: "true"}); err != nil {
		return fmt.Errorf("listing MultiKueueClusters: %w", err)
	}
	used := map[string]bool{}
	for i := range lists.Items {
		names, _, _ := unstructured.NestedStringSlice(lists.Items[i].Object, "spec", "clusters")
		for _, name := range names {
			used[name] = true
		}
	}
	for i := range ours.Items {
		if each := &ours.Items[i]; !used[each.GetName()] {
			if err := client.IgnoreNotFound(r.client.Delete(ctx, each)); err != nil {
				return fmt.Errorf("deleting MultiKueueCluster %s: %w", each.GetName(), err)
			}
		}
	}
	return nil
}

// report writes condition Active of a check where it differs.
func (r *reconciler) report(ctx context.Context, check *unstructured.Unstructured, out output) error {
	var stored struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(check.Object, &stored); err != nil {
		return fmt.Errorf("reading the conditions of AdmissionCheck %s: %w", check.GetName(), err)
	}
	changed := meta.SetStatusCondition(&stored.Status.Conditions, metav1.Condition{
		Type: conditionActive, Status: out.active, Reason: out.reason, Message: out.message, ObservedGeneration: check.GetGeneration(),
	})
	if !changed {
		return nil
	}
	condition, err := runtime.DefaultUnstructuredConverter.ToUnstructured(meta.FindStatusCondition(stored.Status.Conditions, conditionActive))
	if err != nil {
		return fmt.Errorf("making condition Active of AdmissionCheck %s: %w", check.GetName(), err)
	}
	status := object(checkKind)
	status.SetName(check.GetName())
	status.Object["status"] = map[string]any{"conditions": []any{condition}}
	err = r.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(status), fieldManager, client.ForceOwnership)
	if client.IgnoreNotFound(err) != nil { // A check that was deleted meanwhile has no condition.
		return fmt.Errorf("writing condition Active of AdmissionCheck %s: %w", check.GetName(), err)
	}
	return nil
}
