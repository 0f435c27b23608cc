package profile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/changes"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	// decisionWorkers is how many decisions are written concurrently.
	decisionWorkers = 4
	// profileWait is how long a decision waits for the profiles of its new clusters. Then it is written without those that lack one, so
	// that a profile that cannot be stored keeps no other cluster in or out.
	profileWait = 10 * time.Second
	// incompleteRetry is the delay after a decision that was read in the middle of a change. The next event is usually earlier.
	incompleteRetry = time.Second
	// incompleteLimit is how long a decision may be incomplete. Then an event reports it, and lateRetry is the delay.
	incompleteLimit = time.Minute
	lateRetry       = 30 * time.Second
	// blockedRetry is the delay after a decision whose name belongs to another client. The cache lacks that object.
	blockedRetry = time.Minute
)

// decisionReconciler reconciles the PlacementDecisions of multicluster.x-k8s.io of one placement.
type decisionReconciler struct {
	client client.Client
	// live reads from the API server, past the cache of the client. Several objects are written in an order that keeps every cluster, and
	// a cache may lack the last writes.
	live     client.Reader
	writer   *writer
	recorder events.EventRecorder
	clock    clock.PassiveClock
	of       identity

	mu sync.Mutex // guards the rest
	// waiting is since when placements wait for profiles. blocked are the slices of other clients by placement. incomplete are the placements
	// whose decision is not complete.
	waiting    map[client.ObjectKey]time.Time
	blocked    map[client.ObjectKey]string
	incomplete map[client.ObjectKey]incompleteDecision
}

// incompleteDecision is since when a decision is not complete, and whether an event has reported it.
type incompleteDecision struct {
	since    time.Time
	reported bool
}

func (r *decisionReconciler) watch(mgr manager.Manager) error {
	return builder.ControllerManagedBy(mgr).
		Named(Name+"-decision").
		For(&clusterv1beta1.Placement{}, builder.WithPredicates(placementChanged())).
		Watches(&clusterv1beta1.PlacementDecision{}, handler.EnqueueRequestsFromMapFunc(byLabel(clusterv1beta1.PlacementLabel))).
		Watches(&multiclusterv1alpha1.PlacementDecision{}, handler.EnqueueRequestsFromMapFunc(byLabel(multiclusterv1alpha1.DecisionKeyLabel))).
		Watches(&multiclusterv1alpha1.ClusterProfile{}, handler.EnqueueRequestsFromMapFunc(r.placementsOf),
			builder.WithPredicates(changes.Existence())).
		Watches(&clusterv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(r.placementsOfImported),
			builder.WithPredicates(changes.Of(registration.ImportChanged))).
		WithOptions(controller.Options{MaxConcurrentReconciles: decisionWorkers}).
		Complete(r)
}

// byLabel returns the placement that a label of an object names.
func byLabel(key string) handler.MapFunc {
	return func(_ context.Context, object client.Object) []reconcile.Request {
		if name := object.GetLabels()[key]; name != "" {
			return []reconcile.Request{requestFor(object.GetNamespace(), name)}
		}
		return nil
	}
}

// placementsOf returns the placements in the namespace of a profile that have decisions.
func (r *decisionReconciler) placementsOf(ctx context.Context, profile client.Object) []reconcile.Request {
	return r.placementsIn(ctx, profile.GetNamespace())
}

// placementsOfImported returns the placements that have decisions in the namespace that a cluster is imported from.
func (r *decisionReconciler) placementsOfImported(ctx context.Context, cluster client.Object) []reconcile.Request {
	namespace, _, imported := strings.Cut(cluster.GetAnnotations()[clusterv1.InventoryProfileAnnotationKey], "/")
	if !imported || namespace == "" {
		return nil
	}
	return r.placementsIn(ctx, namespace)
}

func (r *decisionReconciler) placementsIn(ctx context.Context, namespace string) []reconcile.Request {
	list := &clusterv1beta1.PlacementDecisionList{}
	if err := r.client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil // the context has ended
	}
	names := sets.New[string]()
	for i := range list.Items {
		if name := list.Items[i].Labels[clusterv1beta1.PlacementLabel]; name != "" {
			names.Insert(name)
		}
	}
	out := make([]reconcile.Request, 0, names.Len())
	for name := range names {
		out = append(out, requestFor(namespace, name))
	}
	return out
}

// Reconcile brings the decisions of a placement to its stored slices.
func (r *decisionReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	placement := &clusterv1beta1.Placement{}
	if err := r.client.Get(ctx, request.NamespacedName, placement); err != nil || placement.DeletionTimestamp != nil {
		r.remove(request.NamespacedName) // the garbage collector removes what the placement owns
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	from, err := r.slices(ctx, placement)
	if err != nil {
		return reconcile.Result{}, err
	}
	var obstacles []string
	if len(from) > 0 { // a placement without slices is not decided yet
		obstacles = decision.Of(from...).Obstacles(placement)
	}
	if retry := r.complete(placement, obstacles); len(from) == 0 || retry > 0 {
		return reconcile.Result{RequeueAfter: retry}, nil
	}
	cached, leftOut, err := r.plan(ctx, r.client, placement, from)
	if err != nil || len(cached) == 0 {
		return reconcile.Result{}, err
	}
	if wait := r.wait(request.NamespacedName, len(leftOut) > 0); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	writes, leftOut, err := r.plan(ctx, r.live, placement, from)
	if err != nil {
		return reconcile.Result{}, err
	}
	err = r.apply(ctx, placement, writes)
	foreign := foreignDecisionError{}
	blocked := errors.As(err, &foreign)
	r.block(placement, foreign)
	if blocked {
		return reconcile.Result{RequeueAfter: blockedRetry}, nil
	}
	if err == nil && len(leftOut) > 0 {
		log.FromContext(ctx).Info("the decision lacks clusters that have no profile in its namespace", "clusters", len(leftOut), "first",
			leftOut[0])
	}
	return apply.Result(ctx, 0, err)
}

// slices returns the stored slices of a placement. They are read-only.
func (r *decisionReconciler) slices(ctx context.Context, placement *clusterv1beta1.Placement) ([]*clusterv1beta1.PlacementDecision, error) {
	list := &clusterv1beta1.PlacementDecisionList{}
	err := r.client.List(ctx, list, client.InNamespace(placement.Namespace),
		client.MatchingLabels{clusterv1beta1.PlacementLabel: placement.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing the slices of Placement %s/%s: %w", placement.Namespace, placement.Name, err)
	}
	out := make([]*clusterv1beta1.PlacementDecision, 0, len(list.Items))
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out, nil
}

// plan returns the writes of a decision from what a reader returns of the present state, and the clusters that the decision lacks. These
// are new clusters without a profile, and clusters whose profile may not be named. A stored cluster whose profile is gone stays.
func (r *decisionReconciler) plan(
	ctx context.Context, reader client.Reader, placement *clusterv1beta1.Placement, from []*clusterv1beta1.PlacementDecision,
) (writes []sliceWrite, leftOut []string, err error) {
	stored, err := r.stored(ctx, reader, placement)
	if err != nil {
		return nil, nil, err
	}
	usable := sets.New[string]()
	for _, s := range stored {
		for _, entry := range s.Decisions {
			usable.Insert(entry.ClusterProfileRef.Name)
		}
	}
	profiles := &multiclusterv1alpha1.ClusterProfileList{}
	if err := r.client.List(ctx, profiles, client.InNamespace(placement.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("listing the profiles in namespace %s: %w", placement.Namespace, err)
	}
	for i := range profiles.Items {
		usableProfile, replaced, err := r.usable(ctx, &profiles.Items[i])
		if err != nil {
			return nil, nil, err
		}
		switch {
		case usableProfile:
			usable.Insert(profiles.Items[i].Name)
		case replaced:
			usable.Delete(profiles.Items[i].Name)
		}
	}
	wanted, leftOut := targets(placement.Namespace, from, usable.Has)
	return planSlices(sliceInput{placement: placement, manager: r.of.manager, targets: wanted, stored: stored}), leftOut, nil
}

// usable reports whether a decision may name a profile: a profile of this cluster manager, or the profile that the cluster of its name is
// imported from. Any other profile may be of another cluster. Replaced is set where the profile that the cluster is imported from was of
// another cluster manager.
func (r *decisionReconciler) usable(ctx context.Context, profile *multiclusterv1alpha1.ClusterProfile) (usable, replaced bool, err error) {
	if r.of.owns(profile) {
		return true, false, nil
	}
	cluster := &clusterv1.ManagedCluster{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: profile.Name}, cluster); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return false, false, nil
		}
		return false, false, fmt.Errorf("reading ManagedCluster %s: %w", profile.Name, err)
	}
	usable, replaced = registration.FollowsProfile(cluster, client.ObjectKeyFromObject(profile).String(), profile.Spec.ClusterManager.Name)
	return usable, replaced, nil
}

// stored returns the decisions of a placement that are of this cluster manager.
func (r *decisionReconciler) stored(ctx context.Context, reader client.Reader,
	placement *clusterv1beta1.Placement,
) ([]*multiclusterv1alpha1.PlacementDecision, error) {
	list := &multiclusterv1alpha1.PlacementDecisionList{}
	err := reader.List(ctx, list, client.InNamespace(placement.Namespace),
		client.MatchingLabels{multiclusterv1alpha1.ClusterManagerLabel: r.of.manager})
	if err != nil {
		return nil, fmt.Errorf("listing the decisions of Placement %s/%s: %w", placement.Namespace, placement.Name, err)
	}
	var out []*multiclusterv1alpha1.PlacementDecision
	for i := range list.Items {
		if s := &list.Items[i]; r.of.isSliceOf(s, placement) {
			out = append(out, s)
		}
	}
	return out, nil
}

// isSliceOf reports whether a PlacementDecision is of this cluster manager and of a placement. Any other object is another client's, also
// with the label of this manager.
func (i identity) isSliceOf(s *multiclusterv1alpha1.PlacementDecision, placement *clusterv1beta1.Placement) bool {
	return s.Labels[multiclusterv1alpha1.ClusterManagerLabel] == i.manager &&
		(s.Labels[multiclusterv1alpha1.DecisionKeyLabel] == placement.Name || metav1.IsControlledBy(s, placement))
}

// wait returns how long a placement still waits for profiles; 0 if it does not wait. After a wait it begins again, so that a decision
// whose profiles appear one by one is not written for each.
func (r *decisionReconciler) wait(key client.ObjectKey, lacks bool) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !lacks {
		delete(r.waiting, key)
		return 0
	}
	now := r.clock.Now()
	since, ok := r.waiting[key]
	if !ok {
		since = now
		r.waiting[key] = now
	}
	if left := profileWait - now.Sub(since); left > 0 {
		return left
	}
	r.waiting[key] = now
	return 0
}

// complete records the obstacles of a decision, and returns the delay until it is read again; 0 without obstacles. It emits an event
// about a decision that stays incomplete, once.
func (r *decisionReconciler) complete(placement *clusterv1beta1.Placement, obstacles []string) time.Duration {
	key := client.ObjectKeyFromObject(placement)
	r.mu.Lock()
	state, known := r.incomplete[key]
	if !known {
		state.since = r.clock.Now()
	}
	reported, late := state.reported, r.clock.Since(state.since) >= incompleteLimit
	state.reported = late
	if r.incomplete[key] = state; len(obstacles) == 0 {
		delete(r.incomplete, key)
	}
	r.mu.Unlock()
	switch {
	case len(obstacles) == 0:
		return 0
	case !late:
		return incompleteRetry
	case !reported:
		event := decisionIncompleteEvent(obstacles[0])
		r.recorder.Eventf(placement, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
	}
	return lateRetry
}

// apply sends writes in their order, and stops at the first error.
func (r *decisionReconciler) apply(ctx context.Context, placement *clusterv1beta1.Placement, writes []sliceWrite) error {
	for _, write := range writes {
		if err := r.write(ctx, placement, write); err != nil {
			return err
		}
	}
	return nil
}

func (r *decisionReconciler) write(ctx context.Context, placement *clusterv1beta1.Placement, write sliceWrite) error {
	object := write.object
	var err error
	switch write.verb {
	case verbCreate:
		err = r.writer.send(ctx, kindDecision, func(ctx context.Context) error { return r.client.Create(ctx, object) })
		if apierrors.IsAlreadyExists(err) {
			err = r.existing(ctx, placement, object, err)
		}
	case verbUpdate:
		patch := apply.Fenced(write.stored)
		err = r.writer.send(ctx, kindDecision, func(ctx context.Context) error { return r.client.Patch(ctx, object, patch) })
	case verbDelete:
		err = r.writer.remove(ctx, kindDecision, object)
	case verbNone, verbBlocked:
	}
	if err != nil {
		return fmt.Errorf("writing PlacementDecision %s/%s of %s: %w", object.Namespace, object.Name, multiclusterv1alpha1.GroupName, err)
	}
	return nil
}

// existing returns the error of a slice whose name is in use: a foreignDecisionError, or the conflict with an own slice that was created
// since the plan was made.
func (r *decisionReconciler) existing(
	ctx context.Context, placement *clusterv1beta1.Placement, object *multiclusterv1alpha1.PlacementDecision, conflict error,
) error {
	found := &multiclusterv1alpha1.PlacementDecision{}
	err := r.live.Get(ctx, client.ObjectKeyFromObject(object), found)
	if err == nil && !r.of.isSliceOf(found, placement) {
		return foreignDecisionError{found.Name}
	}
	return conflict
}

// foreignDecisionError names an object of another client that has the name of a slice.
type foreignDecisionError struct{ name string }

func (e foreignDecisionError) Error() string {
	return "another client has a PlacementDecision of this name: " + e.name
}

// block records the slice of another client that stops a placement, and emits an event about each, once. The zero value is no slice.
func (r *decisionReconciler) block(placement *clusterv1beta1.Placement, foreign foreignDecisionError) {
	key := client.ObjectKeyFromObject(placement)
	r.mu.Lock()
	was := r.blocked[key]
	if r.blocked[key] = foreign.name; foreign.name == "" {
		delete(r.blocked, key)
	}
	r.mu.Unlock()
	if foreign.name != "" && foreign.name != was {
		event := decisionBlockedEvent(foreign.name)
		r.recorder.Eventf(placement, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
	}
}

// remove drops the state of a placement.
func (r *decisionReconciler) remove(key client.ObjectKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, key)
	delete(r.blocked, key)
	delete(r.incomplete, key)
}
