package kueue

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/kube/apply"
)

// write brings a list, its clusters and its checks to their plan.
func (r *reconciler) write(ctx context.Context, in input) error {
	if len(in.checks) == 0 {
		if err := r.removeConfig(ctx, in); err != nil {
			return err
		}
		return r.removeClusters(ctx)
	}
	out := plan(in)
	for _, name := range out.clusters {
		if err := r.addCluster(ctx, in, name); err != nil {
			return err
		}
	}
	if len(out.clusters) > 0 {
		if err := r.writeConfig(ctx, in, out.clusters); err != nil {
			return err
		}
	}
	if err := r.removeClusters(ctx); err != nil {
		return err
	}
	for _, check := range in.checks {
		if err := r.report(ctx, check, out); err != nil {
			return err
		}
	}
	return nil
}

// addCluster creates the MultiKueueCluster of a cluster that Kueue will find. A MultiKueueCluster that exists stays as it is, because its
// source may be in use.
func (r *reconciler) addCluster(ctx context.Context, in input, name string) error {
	if in.stored.Has(name) || !in.usable(name) {
		return nil
	}
	source := map[string]any{"kubeConfig": map[string]any{"locationType": string(SourceSecret), "location": name + sourceSuffix}}
	if r.options.Source == SourceProfile {
		source = map[string]any{"clusterProfileRef": map[string]any{"name": name}}
	}
	wanted := object(clusterKind)
	wanted.SetName(name)
	wanted.SetLabels(map[string]string{PlacementLabel: "true"})
	wanted.Object["spec"] = map[string]any{"clusterSource": source}
	if err := r.client.Create(ctx, wanted, fieldManager); err != nil {
		return fmt.Errorf("creating MultiKueueCluster %s: %w", name, err)
	}
	return nil
}

// writeConfig stores the list. All checks of the placement own it, so that the garbage collector removes it after the last of them even
// without a manager.
func (r *reconciler) writeConfig(ctx context.Context, in input, clusters []string) error {
	config := object(configKind)
	if in.config != nil {
		config = in.config.DeepCopy()
	}
	var owners []metav1.OwnerReference
	for _, owner := range config.GetOwnerReferences() {
		if owner.Kind != checkKind {
			owners = append(owners, owner)
		}
	}
	for _, check := range in.checks {
		owners = append(owners, metav1.OwnerReference{
			APIVersion: groupVersion().String(), Kind: checkKind, Name: check.GetName(),
			UID: check.GetUID(),
		})
	}
	config.SetName(in.name)
	config.SetLabels(map[string]string{PlacementLabel: in.name})
	config.SetOwnerReferences(owners)
	if err := unstructured.SetNestedStringSlice(config.Object, clusters, "spec", "clusters"); err != nil {
		return fmt.Errorf("making MultiKueueConfig %s: %w", in.name, err)
	}
	var err error
	switch {
	case in.config == nil:
		err = r.client.Create(ctx, config, fieldManager)
	case !equality.Semantic.DeepEqual(config.Object, in.config.Object):
		err = r.client.Patch(ctx, config, apply.Fenced(in.config), fieldManager)
	}
	if err != nil {
		return fmt.Errorf("writing MultiKueueConfig %s: %w", in.name, err)
	}
	return nil
}

// checkUIDs returns the checks that own a config.
func checkUIDs(config client.Object) sets.Set[types.UID] {
	out := sets.New[types.UID]()
	for _, owner := range config.GetOwnerReferences() {
		if owner.Kind == checkKind {
			out.Insert(owner.UID)
		}
	}
	return out
}

// clustersOf returns the clusters that a config lists.
func clustersOf(config *unstructured.Unstructured) sets.Set[string] {
	names, _, _ := unstructured.NestedStringSlice(config.Object, "spec", "clusters")
	return sets.New(names...)
}

// removeConfig deletes a list of this controller whose checks are gone or have another list. The list of a check whose parameters changed
// stays until its new placement has one: a wrong name evicts nothing.
func (r *reconciler) removeConfig(ctx context.Context, in input) error {
	if in.config == nil || in.foreign() || in.config.GetDeletionTimestamp() != nil {
		return nil
	}
	checks, err := checksOf(ctx, r.live)
	if err != nil {
		return err
	}
	owners := checkUIDs(in.config)
	for _, check := range checks {
		next := placementOf(check)
		if next == in.name {
			return nil // its event follows
		}
		if !owners.Has(check.GetUID()) {
			continue
		}
		err := r.cache.Get(ctx, client.ObjectKey{Name: next}, object(configKind))
		if next == "" || apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading MultiKueueConfig %s: %w", next, err)
		}
	}
	return r.delete(ctx, in.config)
}

// removeClusters deletes the MultiKueueClusters of this controller that no MultiKueueConfig lists.
func (r *reconciler) removeClusters(ctx context.Context) error {
	clusters, err := list(ctx, r.cache, clusterKind)
	if err != nil {
		return err
	}
	unused := func(reader client.Reader) ([]*unstructured.Unstructured, error) {
		configs, err := list(ctx, reader, configKind)
		if err != nil {
			return nil, err
		}
		used := sets.New[string]()
		for i := range configs {
			used = used.Union(clustersOf(&configs[i]))
		}
		var out []*unstructured.Unstructured
		for i := range clusters {
			if each := &clusters[i]; each.GetLabels()[PlacementLabel] == "true" && each.GetDeletionTimestamp() == nil && !used.Has(each.GetName()) {
				out = append(out, each)
			}
		}
		return out, nil
	}
	found, err := unused(r.cache)
	if len(found) > 0 { // the cache may lack the list that has them
		found, err = unused(r.live)
	}
	if err != nil {
		return err
	}
	for _, each := range found {
		if err := r.delete(ctx, each); err != nil {
			return err
		}
	}
	return nil
}

// delete deletes the version of an object that was read. An object that is gone is a success.
func (r *reconciler) delete(ctx context.Context, of *unstructured.Unstructured) error {
	err := r.client.Delete(ctx, of, apply.Unchanged(of))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting %s %s: %w", of.GetKind(), of.GetName(), err)
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
	status.SetUID(check.GetUID())
	status.SetResourceVersion(check.GetResourceVersion())
	status.Object["status"] = map[string]any{"conditions": []any{condition}}
	err = r.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(status), fieldManager, client.ForceOwnership)
	if client.IgnoreNotFound(err) != nil { // A check that was deleted meanwhile has no condition.
		return fmt.Errorf("writing condition Active of AdmissionCheck %s: %w", check.GetName(), err)
	}
	return nil
}
