package addon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	addonplan "github.com/berth-project/berth/internal/addon/plan"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/delivery/validation"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/changes"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	// templateName is the name of the reconciler of works.
	templateName = "addontemplate"
	// templateWorkers is how many works are written concurrently.
	templateWorkers = 16
	// templateRetry is when a template that cannot be delivered is tried again.
	templateRetry = time.Minute
	// importedCluster is why a cluster without an agent gets no work.
	importedCluster = "the cluster is imported from another inventory and has no agent that applies works"
)

// templateReconciler keeps the work of each add-on whose configuration is an AddOnTemplate, and reports what the work reports.
type templateReconciler struct {
	client    client.Client
	cached    client.Reader
	options   Options
	validator *validation.Validator

	mu sync.Mutex // guards rendered
	// rendered are the last renderings. Each follows from its input alone, so that a report of an agent renders nothing.
	rendered map[client.ObjectKey]renderedTemplate
}

// renderedTemplate is what a template became on one cluster.
type renderedTemplate struct {
	// input is what it was rendered from: the hashes of the configurations.
	input string
	// hash is the hash of the spec, namespace that of the agent on the member.
	hash, namespace string
	// fault is the mistake of a user; empty without one.
	fault string
}

// addTemplates adds the reconciler of works. On a hub without ManifestWorks it adds nothing.
func addTemplates(mgr manager.Manager, options Options) error {
	if _, err := mgr.GetRESTMapper().RESTMapping(workv1.GroupVersion.WithKind("ManifestWork").GroupKind(), workv1.GroupVersion.Version); err !=
		nil {
		if meta.IsNoMatchError(err) {
			mgr.GetLogger().Info("the hub does not serve ManifestWorks, so AddOnTemplates are not delivered; apply config/crd " +
				"and start the manager again")
			return nil
		}
		return fmt.Errorf("finding the kind ManifestWork: %w", err)
	}
	validator, err := validation.New(validation.Limits{ManifestBytes: options.ManifestLimit})
	if err != nil {
		return err //nolint:wrapcheck // a defect, which it names
	}
	r := &templateReconciler{
		client: mgr.GetClient(), cached: mgr.GetCache(), options: options, validator: validator,
		rendered: map[client.ObjectKey]renderedTemplate{},
	}
	err = builder.ControllerManagedBy(mgr).
		Named(templateName).
		For(&addonv1alpha1.ManagedClusterAddOn{}).
		Watches(&workv1.ManifestWork{}, handler.EnqueueRequestsFromMapFunc(addOnOfWork), builder.WithPredicates(changesReport())).
		Watches(&addonv1alpha1.ClusterManagementAddOn{}, handler.EnqueueRequestsFromMapFunc(
			func(ctx context.Context, of client.Object) []reconcile.Request {
				return r.installedWhere(ctx, func(*addonv1alpha1.ManagedClusterAddOn) bool { return true },
					client.MatchingFields{nameIndex: of.GetName()})
			}), builder.WithPredicates(changesPlan())).
		Watches(&clusterv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(
			func(ctx context.Context, cluster client.Object) []reconcile.Request {
				return r.installedWhere(ctx, func(*addonv1alpha1.ManagedClusterAddOn) bool { return true }, client.InNamespace(cluster.GetName()))
			}), builder.WithPredicates(changesHealth())).
		Watches(object(templateKind), r.readerHandler(templates)).
		Watches(object(deploymentConfigKind), r.readerHandler(deploymentConfigs)).
		WithOptions(controller.Options{MaxConcurrentReconciles: templateWorkers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("watching the works of add-ons: %w", err)
	}
	return nil
}

// addOnOfWork returns the add-on that a work is named after.
func addOnOfWork(_ context.Context, work client.Object) []reconcile.Request {
	name := addonplan.NameOf(work.GetName())
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: work.GetNamespace(), Name: name}}}
}

// changesReport passes the changes of a work that may change the report on it.
func changesReport() predicate.Predicate {
	return changes.Of(func(before, after *workv1.ManifestWork) bool {
		return !plan.SameState(before, after) || !equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences)
	})
}

// changesHealth passes a new cluster, and the changes of a cluster between Unknown and another health.
func changesHealth() predicate.Predicate {
	lost := func(object client.Object) bool {
		cluster, ok := object.(*clusterv1.ManagedCluster)
		return ok && meta.IsStatusConditionPresentAndEqual(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable,
			metav1.ConditionUnknown)
	}
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool { return lost(e.ObjectOld) != lost(e.ObjectNew) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// readerHandler enqueues the add-ons that have to reach a configuration.
func (r *templateReconciler) readerHandler(resource string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, config client.Object) []reconcile.Request {
		return r.installedWhere(ctx, func(addOn *addonv1alpha1.ManagedClusterAddOn) bool {
			for _, reference := range addOn.Status.ConfigReferences {
				if reference.Group == addonv1alpha1.GroupName && reference.Resource == resource && reference.DesiredConfig != nil &&
					reference.DesiredConfig.Name == config.GetName() && reference.DesiredConfig.Namespace == config.GetNamespace() {
					return true
				}
			}
			return false
		})
	})
}

// installedWhere returns the add-ons of clusters for which a function returns true.
func (r *templateReconciler) installedWhere(ctx context.Context, passes func(*addonv1alpha1.ManagedClusterAddOn) bool,
	options ...client.ListOption,
) []reconcile.Request {
	list := &addonv1alpha1.ManagedClusterAddOnList{}
	if err := r.client.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil // the cache ends with the manager
	}
	var out []reconcile.Request
	for i := range list.Items {
		if passes(&list.Items[i]) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return out
}

// Reconcile writes the work of an add-on and the report on it.
func (r *templateReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if r.options.Blocked() {
		return reconcile.Result{RequeueAfter: blockedRetry}, nil
	}
	addOn := &addonv1alpha1.ManagedClusterAddOn{}
	if err := r.client.Get(ctx, request.NamespacedName, addOn); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.rendered, request.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !addOn.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil // its work goes with it
	}
	again, err := r.pass(ctx, addOn)
	return apply.Result(ctx, again, err)
}

// pass writes the work that an add-on has to reach, and reports on it. Again is when to try again; 0 for a change only.
func (r *templateReconciler) pass(ctx context.Context, addOn *addonv1alpha1.ManagedClusterAddOn) (again time.Duration, err error) {
	on := addonplan.OnCluster{AddOn: addOn, Now: r.options.Clock.Now()}
	if on.Work, err = r.work(ctx, addOn); err != nil {
		return 0, err
	}
	of, cluster := &addonv1alpha1.ClusterManagementAddOn{}, &clusterv1.ManagedCluster{}
	err = errors.Join(r.client.Get(ctx, client.ObjectKey{Name: addOn.Name}, of),
		r.client.Get(ctx, client.ObjectKey{Name: addOn.Namespace}, cluster))
	if err != nil {
		return 0, client.IgnoreNotFound(err) // without either, nothing is delivered
	}
	if found := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable); found != nil &&
		found.Status == metav1.ConditionUnknown {
		on.Lost = found
	}
	if !of.DeletionTimestamp.IsZero() || of.Annotations[addonv1alpha1.LifecycleAnnotation] == addonv1alpha1.LifecycleSelf ||
		!cluster.DeletionTimestamp.IsZero() {
		return 0, nil
	}
	desired, err := addonplan.DesiredTemplate(addOn)
	work := on.Work
	switch {
	case err != nil:
		return r.fail(ctx, on, err.Error())
	case desired == nil:
		return 0, r.report(ctx, addOn, addonplan.WithoutTemplate(on))
	case work != nil && (!work.DeletionTimestamp.IsZero() || isOfFormer(work, addOn)):
		return templateRetry, r.report(ctx, addOn, addonplan.WorkIsRemoved(on))
	case work != nil && !metav1.IsControlledBy(work, addOn):
		return r.fail(ctx, on, "ManifestWork "+work.Name+" is not of this add-on: delete it, or give the add-on another name")
	case work != nil && !addonplan.IsRendered(work) && addonplan.IsSettled(addOn):
		return 0, nil // another manager of add-ons delivered it; the next rollout replaces it
	case !addonplan.NamesConfigs(of, addOn):
		return 0, r.report(ctx, addOn, addonplan.NotNamed(on))
	case registration.Imported(cluster):
		return r.fail(ctx, on, importedCluster)
	}
	return r.deliver(ctx, on, desired)
}

// work returns the work of an add-on; nil without one.
func (r *templateReconciler) work(ctx context.Context, addOn *addonv1alpha1.ManagedClusterAddOn) (*workv1.ManifestWork, error) {
	work := &workv1.ManifestWork{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: addOn.Namespace, Name: addonplan.WorkName(addOn.Name)}, work)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // a missing work is no error
	}
	if err != nil {
		return nil, fmt.Errorf("reading the work of ManagedClusterAddOn %s/%s: %w", addOn.Namespace, addOn.Name, err)
	}
	return work, nil
}

// isOfFormer reports whether a work is of a deleted add-on of the same name, and goes.
func isOfFormer(work *workv1.ManifestWork, addOn *addonv1alpha1.ManagedClusterAddOn) bool {
	owner := metav1.GetControllerOf(work)
	return owner != nil && strings.HasPrefix(owner.APIVersion, addonv1alpha1.GroupName+"/") && owner.Kind == "ManagedClusterAddOn" &&
		owner.Name == addOn.Name && owner.UID != addOn.UID
}

// deliver writes the work of a template. A template or a configuration whose content has changed since waits for the rollout, and the work
// stays as it is.
func (r *templateReconciler) deliver(ctx context.Context, on addonplan.OnCluster,
	desired *addonv1alpha1.ConfigSpecHash,
) (again time.Duration, err error) {
	addOn, work := on.AddOn, on.Work
	last := r.last(addOn)
	if last.fault == "" && (work == nil || !plan.IsCurrent(work, last.hash)) {
		spec, current, err := r.render(ctx, addOn, desired)
		switch {
		case err != nil:
			return 0, err
		case !current && work != nil:
			return 0, r.report(ctx, addOn, addonplan.TemplateHealth(on))
		case !current:
			return 0, nil
		}
		if last = r.last(addOn); last.fault == "" && (work == nil || !plan.IsCurrent(work, last.hash)) {
			return r.write(ctx, on, spec, last.hash)
		}
	}
	if last.fault != "" {
		return r.fail(ctx, on, last.fault)
	}
	state, _ := plan.StateOf(work, last.hash, on.Now)
	return 0, r.report(ctx, addOn, addonplan.TemplateReport(on, state, last.namespace))
}

// inputOf returns what a template is rendered from.
func inputOf(addOn *addonv1alpha1.ManagedClusterAddOn) string {
	parts := []string{string(addOn.UID), addOn.Spec.InstallNamespace}
	for _, reference := range addOn.Status.ConfigReferences {
		if desired := reference.DesiredConfig; desired != nil {
			parts = append(parts, reference.Resource, desired.Namespace, desired.Name, desired.SpecHash)
		}
	}
	return strings.Join(parts, "\x00")
}

// last returns the rendering of what an add-on has to reach; the zero value without a rendering.
func (r *templateReconciler) last(addOn *addonv1alpha1.ManagedClusterAddOn) renderedTemplate {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := r.rendered[client.ObjectKeyFromObject(addOn)]; last.input == inputOf(addOn) {
		return last
	}
	return renderedTemplate{}
}

// render renders what the add-on of a cluster has to run, and keeps the result. Current is false while an object has another content than
// the add-on has to reach: the watch of the object enqueues the add-on again.
func (r *templateReconciler) render(
	ctx context.Context, addOn *addonv1alpha1.ManagedClusterAddOn, desired *addonv1alpha1.ConfigSpecHash,
) (spec *workv1.ManifestWorkSpec, current bool, err error) {
	template := &addonv1alpha1.AddOnTemplate{}
	if current, err = r.read(ctx, templateKind, desired, template); !current {
		return nil, false, err
	}
	var configs []*addonv1alpha1.AddOnDeploymentConfig
	for _, reference := range addOn.Status.ConfigReferences {
		if reference.Resource != deploymentConfigs || reference.DesiredConfig == nil {
			continue
		}
		config := &addonv1alpha1.AddOnDeploymentConfig{}
		if current, err = r.read(ctx, deploymentConfigKind, reference.DesiredConfig, config); !current {
			return nil, false, err
		}
		configs = append(configs, config)
	}
	out := renderedTemplate{input: inputOf(addOn)}
	rendering, err := addonplan.Render(addOn, template, configs)
	if err == nil {
		err = r.validate(rendering.Spec)
	}
	if err == nil {
		out.namespace = rendering.Namespace
		out.hash, err = plan.TemplateHash(rendering.Spec)
	}
	if err != nil {
		out.fault = err.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rendered[client.ObjectKeyFromObject(addOn)] = out
	return rendering.Spec, true, nil
}

// validate returns the errors of a rendered spec. The webhook of works does not review the works of the manager.
func (r *templateReconciler) validate(spec *workv1.ManifestWorkSpec) error {
	errs, _ := r.validator.Work(spec, field.NewPath("spec", "agentSpec"))
	return errs.ToAggregate() //nolint:wrapcheck // it is of the template, which the status names
}

// read reads a configuration. Ok is false if it does not exist or has another content.
func (r *templateReconciler) read(ctx context.Context, kind string, desired *addonv1alpha1.ConfigSpecHash,
	into client.Object,
) (ok bool, err error) {
	found := object(kind)
	err = r.cached.Get(ctx, client.ObjectKey{Namespace: desired.Namespace, Name: desired.Name}, found)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading %s %s: %w", kind, desired.Name, err)
	}
	if configOf(found, err).Hash != desired.SpecHash {
		return false, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, into); err != nil {
		return false, fmt.Errorf("reading %s %s: %w", kind, desired.Name, err)
	}
	return true, nil
}

// write stores the spec of a work.
func (r *templateReconciler) write(ctx context.Context, on addonplan.OnCluster, spec *workv1.ManifestWorkSpec,
	hash string,
) (again time.Duration, err error) {
	addOn, work := on.AddOn, on.Work
	if work == nil {
		err = r.client.Create(ctx, addonplan.NewWork(addOn, spec, hash))
	} else {
		kind, data, patchErr := addonplan.WorkPatch(work, spec, hash)
		if patchErr != nil {
			return 0, patchErr //nolint:wrapcheck // it names the work
		}
		err = r.client.Patch(ctx, work.DeepCopy(), client.RawPatch(kind, data))
	}
	switch {
	case err == nil:
		return 0, nil
	case apierrors.IsAlreadyExists(err):
		return apply.ConflictRetry, nil // the cache has it soon
	case !apply.IsConflict(err) && apply.Refused(err):
		return r.fail(ctx, on, "the API server refused the work: "+err.Error())
	}
	return 0, fmt.Errorf("writing the work of ManagedClusterAddOn %s/%s: %w", addOn.Namespace, addOn.Name, err)
}

// fail reports why a template is not delivered. Again is when to try again.
func (r *templateReconciler) fail(ctx context.Context, on addonplan.OnCluster, message string) (again time.Duration, err error) {
	return templateRetry, r.report(ctx, on.AddOn, addonplan.TemplateFailed(on, message))
}

// report stores the status of an add-on where it changed.
func (r *templateReconciler) report(ctx context.Context, addOn *addonv1alpha1.ManagedClusterAddOn,
	status *addonv1alpha1.ManagedClusterAddOnStatus,
) error {
	if equality.Semantic.DeepEqual(addOn.Status, *status) {
		return nil
	}
	after := addOn.DeepCopy()
	after.Status = *status
	if err := r.client.Status().Patch(ctx, after, apply.Fenced(addOn)); err != nil {
		return fmt.Errorf("writing the status of ManagedClusterAddOn %s/%s: %w", addOn.Namespace, addOn.Name, err)
	}
	return nil
}
