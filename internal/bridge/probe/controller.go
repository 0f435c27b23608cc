// Package probe runs the controller that reads clusters without an agent: for each Secret with a kubeconfig it runs the parts of an
// agent on the hub, which report the member and renew its lease.
//
// It writes nothing to a member but requests for tokens of its own service account, which take the place of the token in the Secret
// before that expires. It runs only where it is named, and connects only where its allow-list permits: package target owns
// these rules. The invariant: a probe that fails is silence. Only a member that responds renews its lease or becomes unavailable.
package probe

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/bridge/probe/target"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/expectederror"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "probe"

// Namespace is the namespace of the Secrets. The controller reads no other.
const Namespace = "berth-probe"

const (
	// maxSessions bounds the members that are read. Each has a connection of its own, so that no member delays another.
	maxSessions = 500
	// interval is how often the condition of a cluster is compared with its session.
	interval = 5 * time.Second
)

// Add adds the controller to a manager.
func Add(mgr manager.Manager, options Options) error {
	allowed, err := target.ParseAllowed(options.Allow)
	if err != nil {
		return fmt.Errorf("reading --probe-allow: %w", err)
	}
	r := &reconciler{
		client: mgr.GetClient(), recorder: mgr.GetEventRecorder("probe-controller"), hub: mgr.GetConfig(), log: mgr.GetLogger().WithName(Name),
		options: options, allowed: allowed, sessions: map[string]*session{}, reported: map[string]string{}, reasons: map[string]string{},
	}
	RegisterMetrics(options.Registry, r.count)
	if err := mgr.Add(manager.RunnableFunc(r.stopAtEnd)); err != nil {
		return fmt.Errorf("adding the probe controller: %w", err)
	}
	err = builder.ControllerManagedBy(mgr).
		Named(Name).
		For(&clusterv1.ManagedCluster{}).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(clusterOf)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("adding the probe controller: %w", err)
	}
	return nil
}

// Secrets selects the Secrets that name a cluster.
func Secrets() labels.Selector {
	requirement, err := labels.NewRequirement(clusterv1.ProbeClusterLabelKey, selection.Exists, nil)
	if err != nil {
		panic("probe: the label of Secrets is invalid: " + err.Error())
	}
	return labels.NewSelector().Add(*requirement)
}

// clusterOf returns the cluster that a Secret names.
func clusterOf(_ context.Context, secret client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: secret.GetLabels()[clusterv1.ProbeClusterLabelKey]}}}
}

// reconciler reconciles the session of each cluster with its Secret. One goroutine reconciles.
type reconciler struct {
	client   client.Client
	recorder events.EventRecorder
	hub      *rest.Config
	log      logr.Logger
	options  Options
	// allowed are the servers of members.
	allowed target.Allowed

	running sync.WaitGroup
	mu      sync.Mutex
	// sessions are the running sessions by cluster.
	sessions map[string]*session
	// reasons are the last reasons of the condition Probed by cluster.
	reasons map[string]string
	// reported is the last event about a Secret without a cluster, by cluster.
	reported map[string]string
}

// stopAtEnd stops all sessions when the manager ends.
func (r *reconciler) stopAtEnd(ctx context.Context) error {
	<-ctx.Done()
	r.mu.Lock()
	names := slices.Collect(maps.Keys(r.sessions))
	r.mu.Unlock()
	for _, name := range names {
		r.stop(name)
	}
	r.running.Wait()
	return nil
}

// stop stops the session of a cluster, if any.
func (r *reconciler) stop(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sessions[name]; s != nil {
		s.stop()
		delete(r.sessions, name)
	}
}

// Reconcile starts or stops the session of a cluster, and writes its condition.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	secret, err := r.secretOf(ctx, request.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	cluster := &clusterv1.ManagedCluster{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: request.Name}, cluster); err != nil {
		r.stop(request.Name)
		r.setReason(request.Name, nil, outcome{})
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, fmt.Errorf("reading ManagedCluster %s: %w", request.Name, err)
		}
		r.reportMissing(secret, request.Name)
		return reconcile.Result{}, nil
	}
	delete(r.reported, request.Name)
	found := r.ensure(ctx, cluster, secret)
	r.setReason(request.Name, secret, found)
	err = r.write(ctx, cluster, secret, found)
	if secret == nil {
		return apply.Result(ctx, 0, err)
	}
	return apply.Result(ctx, interval, err)
}

// setReason records the outcome of a cluster for the metric. The zero outcome changes nothing, as it changes no condition.
func (r *reconciler) setReason(cluster string, secret *corev1.Secret, found outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case secret == nil:
		delete(r.reasons, cluster)
	case found.reason != "":
		r.reasons[cluster] = found.reason
	}
}

// count returns the number of clusters by reason.
func (r *reconciler) count() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]int{ReasonProbing: 0}
	for _, reason := range r.reasons {
		out[reason]++
	}
	return out
}

// secretOf returns the Secret of a cluster, the oldest of several; nil without one.
func (r *reconciler) secretOf(ctx context.Context, cluster string) (*corev1.Secret, error) {
	list := &corev1.SecretList{}
	if err := r.client.List(ctx, list, client.InNamespace(Namespace), client.MatchingLabels{clusterv1.ProbeClusterLabelKey: cluster}); err !=
		nil {
		return nil, fmt.Errorf("listing the Secrets of cluster %s: %w", cluster, err)
	}
	if len(list.Items) == 0 || cluster == "" {
		return nil, nil //nolint:nilnil // nil is the Secret that does not exist
	}
	oldest := slices.MinFunc(list.Items, func(a, b corev1.Secret) int {
		if order := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); order != 0 {
			return order
		}
		return compareNames(a.Name, b.Name)
	})
	return &oldest, nil
}

// reportMissing emits an event about a Secret that names a cluster that does not exist, once.
func (r *reconciler) reportMissing(secret *corev1.Secret, cluster string) {
	if secret == nil {
		delete(r.reported, cluster)
		return
	}
	if r.reported[cluster] == string(secret.UID) {
		return
	}
	r.reported[cluster] = string(secret.UID)
	event := clusterMissingEvent(secret.Name, cluster)
	r.recorder.Eventf(secret, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
}

// ensure starts, keeps or stops the session of a cluster, and returns the outcome to report.
func (r *reconciler) ensure(ctx context.Context, cluster *clusterv1.ManagedCluster, secret *corev1.Secret) outcome {
	to, blocked := r.wanted(cluster, secret)
	r.mu.Lock()
	running, count := r.sessions[cluster.Name], len(r.sessions)
	r.mu.Unlock()
	switch {
	case blocked.reason != "":
		r.stop(cluster.Name)
		return blocked
	case running != nil && equalTargets(running.target, to):
		running.view.setCluster(cluster)
		return running.outcome()
	case running == nil && count >= maxSessions:
		return outcome{ReasonTooManyClusters, fmt.Sprintf("the manager reads %d clusters already, its limit; run an agent in the member",
			maxSessions)}
	}
	r.stop(cluster.Name)
	next, err := r.newSession(cluster, to)
	if err != nil {
		return outcome{ReasonSecretNotUsable, err.Error()}
	}
	next.store = func(ctx context.Context, token string) error { return r.storeToken(ctx, secret, to.Token, token) }
	r.start(ctx, next)
	return outcome{}
}

// start runs a session until it is stopped. It outlives the reconciliation.
func (r *reconciler) start(ctx context.Context, s *session) {
	// A member that does not respond is a condition, and no error of the manager.
	logger := expectederror.Logger(r.log.WithValues("cluster", s.cluster), func(error, string) bool { return true })
	s.log = slog.New(logr.ToSlogHandler(logger))
	ctx, s.stop = context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), logger))
	r.mu.Lock()
	r.sessions[s.cluster] = s
	r.mu.Unlock()
	r.running.Go(func() { s.run(ctx) })
}
