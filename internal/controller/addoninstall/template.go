package addoninstall

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/addon"
	"github.com/berth-project/berth/internal/apply"
	"github.com/berth-project/berth/internal/delivery"
)

const (
	// templateName is the name of the reconciler of works.
	templateName = "addontemplate"
	// templateWorkers is how many works are written concurrently.
	templateWorkers = 16
)

// templateReconciler keeps the work of each add-on whose configuration is an AddOnTemplate, and reports what the work reports.
type templateReconciler struct {
	client  client.Client
	cached  client.Reader
	options Options
}

// addTemplates adds the reconciler of works.
func addTemplates(mgr manager.Manager, options Options) error {
	r := &templateReconciler{client: mgr.GetClient(), cached: mgr.GetCache(), options: options}
	err := builder.ControllerManagedBy(mgr).
		Named(templateName).
		For(&addonv1alpha1.ManagedClusterAddOn{}).
		Watches(&workv1.ManifestWork{}, handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &addonv1alpha1.ManagedClusterAddOn{}, handler.OnlyControllerOwner())).
		WithOptions(controller.Options{MaxConcurrentReconciles: templateWorkers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("watching the works of add-ons: %w", err)
	}
	return nil
}

// Reconcile writes the work of an add-on and the report on it.
func (r *templateReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if r.options.Blocked() {
		return reconcile.Result{RequeueAfter: blockedRetry}, nil
	}
	addOn := &addonv1alpha1.ManagedClusterAddOn{}
	if err := r.client.Get(ctx, request.NamespacedName, addOn); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !addOn.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil // its work goes with it
	}
	err := r.pass(ctx, addOn)
	if apply.IsConflict(err) {
		return reconcile.Result{RequeueAfter: conflictRetry}, nil
	}
	return reconcile.Result{}, err
}

// pass writes the work that an add-on has to reach. A template or a configuration whose content has changed since waits for the rollout, and
// the work stays as it is.
func (r *templateReconciler) pass(ctx context.Context, addOn *addonv1alpha1.ManagedClusterAddOn) error {
	work := &workv1.ManifestWork{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: addOn.Namespace, Name: addon.WorkName(addOn.Name)}, work)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the work of ManagedClusterAddOn %s/%s: %w", addOn.Namespace, addOn.Name, err)
	}
	if err != nil {
		work = nil
	}
	desired := addon.DesiredTemplate(addOn)
	if desired == nil {
		return r.report(ctx, addOn, addon.WithoutTemplate(addOn, work, r.options.Clock.Now()))
	}
	rendering, current, err := r.render(ctx, addOn, desired)
	switch {
	case err != nil:
		return r.report(ctx, addOn, addon.TemplateFailed(addOn, err.Error(), r.options.Clock.Now()))
	case !current:
		return nil
	case work != nil && !metav1.IsControlledBy(work, addOn):
		return r.report(ctx, addOn, addon.TemplateFailed(addOn, "ManifestWork "+work.Name+" is not of this add-on: delete it", r.options.Clock.Now()))
	}
	hash, err := delivery.TemplateHash(rendering.Spec)
	if err != nil {
		return r.report(ctx, addOn, addon.TemplateFailed(addOn, err.Error(), r.options.Clock.Now()))
	}
	if work == nil || !delivery.IsCurrent(work, hash) {
		return r.write(ctx, addOn, work, rendering.Spec, hash)
	}
	state, _ := delivery.StateOf(work, hash, r.options.Clock.Now())
	return r.report(ctx, addOn, addon.TemplateReport(addOn, work, state, rendering.Namespace, r.options.Clock.Now()))
}

// render returns what the add-on of a cluster has to run. Current is false while an object has another content than the add-on has to reach.
func (r *templateReconciler) render(
	ctx context.Context, addOn *addonv1alpha1.ManagedClusterAddOn, desired *addonv1alpha1.ConfigSpecHash,
) (out addon.Rendering, current bool, err error) {
	template := &addonv1alpha1.AddOnTemplate{}
	if current, err = r.read(ctx, templateKind, desired, template); !current {
		return out, false, err
	}
	var configs []*addonv1alpha1.AddOnDeploymentConfig
	for _, reference := range addOn.Status.ConfigReferences {
		if reference.Group != addonv1alpha1.GroupName || reference.Resource != deploymentConfigs || reference.DesiredConfig == nil {
			continue
		}
		config := &addonv1alpha1.AddOnDeploymentConfig{}
		if current, err = r.read(ctx, deploymentConfigKind, reference.DesiredConfig, config); !current {
			return out, false, err
		}
		configs = append(configs, config)
	}
	out, err = addon.Render(addOn, template, configs)
	return out, true, err
}

// read reads a configuration. Ok is false if it does not exist or has another content.
func (r *templateReconciler) read(ctx context.Context, kind string, desired *addonv1alpha1.ConfigSpecHash, into client.Object) (ok bool, err error) {
	found := object(kind)
	err = r.cached.Get(ctx, client.ObjectKey{Namespace: desired.Namespace, Name: desired.Name}, found)
	if configOf(found, err).Hash != desired.SpecHash {
		return false, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, into); err != nil {
		return false, fmt.Errorf("reading %s %s: %w", kind, desired.Name, err)
	}
	return true, nil
}

// write stores the spec of a work. A work that is being deleted is created again once it is gone.
func (r *templateReconciler) write(
	ctx context.Context, addOn *addonv1alpha1.ManagedClusterAddOn, work *workv1.ManifestWork, spec *workv1.ManifestWorkSpec, hash string,
) error {
	switch {
	case work == nil:
		if err := r.client.Create(ctx, addon.NewWork(addOn, spec, hash)); err != nil {
			return r.refused(ctx, addOn, err)
		}
	case work.DeletionTimestamp.IsZero():
		kind, data, err := addon.WorkPatch(work, spec, hash)
		if err != nil {
			return err //nolint:wrapcheck // it names the work
		}
		if err := r.client.Patch(ctx, work.DeepCopy(), client.RawPatch(kind, data)); err != nil {
			return r.refused(ctx, addOn, err)
		}
	}
	return nil
}

// refused reports a work that the API server refuses. Any other failure is retried.
func (r *templateReconciler) refused(ctx context.Context, addOn *addonv1alpha1.ManagedClusterAddOn, err error) error {
	if apply.IsConflict(err) || !apply.Refused(err) {
		return fmt.Errorf("writing the work of ManagedClusterAddOn %s/%s: %w", addOn.Namespace, addOn.Name, err)
	}
	return r.report(ctx, addOn, addon.TemplateFailed(addOn, "the API server refused the work: "+err.Error(), r.options.Clock.Now()))
}

// report stores the status of an add-on where it changed.
func (r *templateReconciler) report(ctx context.Context, addOn *addonv1alpha1.ManagedClusterAddOn, status *addonv1alpha1.ManagedClusterAddOnStatus) error {
	if equality.Semantic.DeepEqual(addOn.Status, *status) {
		return nil
	}
	after := addOn.DeepCopy()
	after.Status = *status
	if err := r.client.Status().Patch(ctx, after, client.MergeFromWithOptions(addOn, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing the status of ManagedClusterAddOn %s/%s: %w", addOn.Namespace, addOn.Name, err)
	}
	return nil
}
