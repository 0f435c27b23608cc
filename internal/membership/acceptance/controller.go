// Package acceptance runs the controller that gives the agent of an accepted cluster its namespace and permissions, withdraws them
// when the cluster is denied, and removes both with the cluster. Rights whose cluster is gone are removed, whatever became of its
// finalizers.
//
// It accepts no cluster: spec.hubAcceptsClient decides. It reads all objects of a cluster, makes a plan from them, and applies the
// plan; each write is fenced by the UID and the resourceVersion that the plan was made from. The invariant: a namespace of another
// owner is never adopted, changed or deleted.
package acceptance

import (
	"context"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/membership/registration"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "acceptance"

const (
	// workers is how many clusters are written concurrently.
	workers = 4
	// blockedRetry is the delay between attempts while another controller registers clusters.
	blockedRetry = 30 * time.Second
)

// Add adds the controller to a manager.
func Add(mgr manager.Manager, options Options) error {
	kinds, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("creating a discovery client: %w", err)
	}
	r := &reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), mapper: mgr.GetRESTMapper(), kinds: kinds, options: options,
		recorder: mgr.GetEventRecorder("acceptance-controller"), silence: silence{seen: map[string]observation{}},
	}
	if err := r.watch(mgr); err != nil {
		return fmt.Errorf("adding the acceptance controller: %w", err)
	}
	return nil
}

// reconciler reconciles what the hub has for each cluster.
type reconciler struct {
	client client.Client
	// live reads from the API server, past the cache of the client.
	live     client.Reader
	mapper   meta.RESTMapper
	kinds    discovery.DiscoveryInterface
	recorder events.EventRecorder
	options  Options
	silence  silence
}

// Reconcile makes the plan for a cluster and applies it.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if r.options.Blocked() {
		return reconcile.Result{RequeueAfter: blockedRetry}, nil
	}
	cluster := &clusterv1.ManagedCluster{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: request.Name}, cluster); err != nil {
		r.silence.evict(request.Name)
		if !apierrors.IsNotFound(err) {
			return reconcile.Result{}, err
		}
		return r.removeLeft(ctx, request.Name)
	}
	if withoutRights(cluster) {
		return r.removeLeft(ctx, request.Name)
	}
	in, readErr := r.gather(ctx, cluster)
	if in == nil {
		return reconcile.Result{}, readErr
	}
	todo := makePlan(*in)
	err := r.apply(ctx, cluster, todo)
	if refused := (inventoryRefusedError{}); errors.As(err, &refused) {
		in.inventory.refused = true
		todo = makePlan(*in)
		err = r.apply(ctx, cluster, todo)
	}
	if readErr != nil && !apply.IsConflict(err) {
		return reconcile.Result{}, errors.Join(err, readErr)
	}
	return apply.Result(ctx, todo.wait, err)
}

// removeLeft removes what a cluster that is gone has left: the rights of its agent, and the protection of its namespace.
func (r *reconciler) removeLeft(ctx context.Context, cluster string) (reconcile.Result, error) {
	result, err := r.removeRights(ctx, cluster)
	return apply.Result(ctx, result.RequeueAfter, errors.Join(err, r.unprotectNamespace(ctx, cluster)))
}

// unprotectNamespace lets users delete the namespace of a cluster that is gone, as where its finalizers were removed by hand.
func (r *reconciler) unprotectNamespace(ctx context.Context, cluster string) error {
	found, err := find(ctx, r, "", cluster, newNamespace)
	if err != nil || found == nil || registration.NamespaceOwner(found.Labels) != cluster {
		return err
	}
	_, writes := unprotect(found)
	for _, w := range writes {
		if err := r.write(ctx, w); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// gather reads what a plan is made from. Works or add-ons that cannot be read are marked as unknown, so that the rest of the plan is
// still made; err is returned after it is applied. A nil input is an error.
func (r *reconciler) gather(ctx context.Context, cluster *clusterv1.ManagedCluster) (in *input, err error) {
	in = &input{
		cluster: cluster, bindUser: r.options.BindAgentUser, now: r.options.Clock.Now(), workTimeout: r.options.WorkTimeout,
		keeps: registration.KeepsWorkloads(cluster, r.options.OnDelete),
	}
	if err := r.readObjects(ctx, in); err != nil {
		return nil, err
	}
	deleting := !cluster.DeletionTimestamp.IsZero()
	if deleting || in.terminating() || !registration.AdmitsAgent(cluster) && in.workBinding != nil {
		var workErr, addOnErr error
		in.works, workErr = readContent(ctx, r.mapper, r.live, workKind(), cluster.Name)
		if deleting {
			in.addOns, addOnErr = readContent(ctx, r.mapper, r.live, addOnKind(), cluster.Name)
		}
		err = errors.Join(workErr, addOnErr)
	}
	if !deleting || !in.owned() || !in.namespace.DeletionTimestamp.IsZero() && in.addOns.empty() && in.works.empty() {
		return in, err
	}
	if !in.addOns.empty() || !in.works.empty() {
		return in, errors.Join(err, r.observeSilence(ctx, in))
	}
	return in, errors.Join(err, r.readInventory(ctx, in))
}

func (r *reconciler) readObjects(ctx context.Context, in *input) (err error) {
	name := in.cluster.Name
	if in.namespace, err = find(ctx, r, "", name, newNamespace); err != nil {
		return err
	}
	if in.clusterRole, err = find(ctx, r, "", registration.ClusterRole(name), newClusterRole); err != nil {
		return err
	}
	if in.clusterRoleBinding, err = find(ctx, r, "", registration.ClusterRole(name), newClusterRoleBinding); err != nil {
		return err
	}
	if in.namespace == nil {
		return nil
	}
	for binding, to := range map[string]**rbacv1.RoleBinding{
		registration.AgentBinding(name): &in.agentBinding, registration.WorkBinding(name): &in.workBinding, inventoryName: &in.inventoryBinding,
	} {
		if binding == inventoryName && in.cluster.DeletionTimestamp.IsZero() {
			continue
		}
		if *to, err = find(ctx, r, name, binding, newRoleBinding); err != nil {
			return err
		}
	}
	return r.readAccount(ctx, in)
}

// find returns an object; nil where it does not exist. The cache lacks objects without the label of a cluster and those that were
// written a moment ago, so the API server is read before an object counts as missing.
func find[T any, P interface {
	*T
	client.Object
}](ctx context.Context, r *reconciler, namespace, name string, empty func() P) (P, error) {
	object, key := empty(), client.ObjectKey{Namespace: namespace, Name: name}
	err := r.client.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		object = empty()
		err = r.live.Get(ctx, key, object)
	}
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // nil is the object that does not exist
	}
	if err != nil {
		return nil, fmt.Errorf("reading %T %s: %w", object, name, err)
	}
	return object, nil
}

// observeSilence reads the lease of a cluster whose deletion may be forced.
func (r *reconciler) observeSilence(ctx context.Context, in *input) error {
	if after, _ := in.forced(); after == 0 {
		return nil
	}
	lease := &coordinationv1.Lease{}
	err := r.live.Get(ctx, client.ObjectKey{Namespace: in.cluster.Name, Name: clusterv1.ManagedClusterLeaseName}, lease)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the lease of ManagedCluster %s: %w", in.cluster.Name, err)
	}
	var renewed time.Time
	if lease.Spec.RenewTime != nil {
		renewed = lease.Spec.RenewTime.Time
	}
	in.silent = r.silence.observe(in.cluster, renewed, in.now)
	return nil
}

// readInventory lists the namespace once the manager may. A failure leaves the inventory incomplete.
func (r *reconciler) readInventory(ctx context.Context, in *input) error {
	if in.inventoryBinding == nil {
		review := &authenticationv1.SelfSubjectReview{}
		if err := r.client.Create(ctx, review); err != nil {
			return fmt.Errorf("reading the user of the manager: %w", err)
		}
		in.user = review.Status.UserInfo.Username
		return nil
	}
	found, err := takeInventory(ctx, r.kinds, r.live, in.cluster.Name)
	if err != nil {
		log.FromContext(ctx).V(1).Info("the namespace of the cluster is not listed", "cause", err.Error())
		return nil
	}
	in.inventory = found
	return nil
}
