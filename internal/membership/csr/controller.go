// Package csr runs the controller that approves and denies the CertificateSigningRequests of agents. Package approval owns the rules.
//
// It reconciles all open requests of one cluster at a time, so that two members with one name are compared in order. It signs nothing.
// The invariant: a request that is approved, denied or signed is never written again.
package csr

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/membership/registration"
	"github.com/berth-project/berth/internal/membership/registration/approval"
	"github.com/berth-project/berth/internal/membership/registration/autoaccept"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "csr"

const (
	// workers is how many clusters are reconciled concurrently.
	workers = 4
	// maxOpen bounds the open requests of a cluster that are decided at a time.
	maxOpen = 50
	// blockedRetry is the delay between attempts while another controller registers clusters, and reviewRetry that between
	// reviews of a refused renewal. No event announces the change of either.
	blockedRetry = 30 * time.Second
	reviewRetry  = 30 * time.Second
)

// Add adds the controller to a manager.
func Add(ctx context.Context, mgr manager.Manager, options Options) error {
	rules, err := options.rules()
	if err != nil {
		return err
	}
	r := &reconciler{
		client: mgr.GetClient(), options: options, rules: rules, recorder: mgr.GetEventRecorder("csr-controller"),
		open: map[string]int{}, endedTokens: map[string]types.UID{},
	}
	r.metrics = NewMetrics(options.Registry, r.pending)
	if err := r.watch(ctx, mgr); err != nil {
		return fmt.Errorf("adding the controller of certificate requests: %w", err)
	}
	return nil
}

// reconciler reconciles the open requests of each cluster.
type reconciler struct {
	client   client.Client
	recorder events.EventRecorder
	metrics  *Metrics
	options  Options
	// rules accept clusters without an administrator.
	rules []autoaccept.Rule

	mu sync.Mutex
	// open counts the waiting requests by cluster.
	open map[string]int
	// endedTokens are the last requests whose join token has ended, by cluster.
	endedTokens map[string]types.UID
}

// pending returns how many requests wait.
func (r *reconciler) pending() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	total := 0
	for _, count := range r.open {
		total += count
	}
	return total
}

func (r *reconciler) setPending(cluster string, count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if count == 0 {
		delete(r.open, cluster)
		return
	}
	r.open[cluster] = count
}

// dropCluster drops what is held of a cluster that does not exist.
func (r *reconciler) dropCluster(cluster string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.endedTokens, cluster)
}

// Reconcile decides on the open requests of a cluster.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if r.options.Blocked() {
		return reconcile.Result{RequeueAfter: blockedRetry}, nil
	}
	cluster, err := r.readCluster(ctx, request.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	requests, err := r.listRequests(ctx, request.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	p := &pass{reconciler: r, name: request.Name, cluster: cluster, conflict: reportConflict(cluster), reason: reasonConflict}
	if err := p.recordAgent(ctx, requests); err != nil {
		return apply.Result(ctx, 0, err)
	}
	if err := p.recordMember(ctx); err != nil {
		return apply.Result(ctx, 0, err)
	}
	for _, csr := range first(open(requests), request.Name, cluster) {
		if err := p.decide(ctx, csr); err != nil {
			return apply.Result(ctx, 0, err)
		}
	}
	r.setPending(request.Name, p.waiting)
	if cluster == nil {
		r.dropCluster(request.Name)
	}
	if err := p.endJoinToken(ctx, requests); err != nil {
		return reconcile.Result{}, err
	}
	if err := p.compareNames(ctx); err != nil {
		return reconcile.Result{}, err
	}
	return apply.Result(ctx, p.retry, p.writeConflict(ctx))
}

// readCluster returns a cluster; nil where it does not exist.
func (r *reconciler) readCluster(ctx context.Context, name string) (*clusterv1.ManagedCluster, error) {
	cluster := &clusterv1.ManagedCluster{}
	err := r.client.Get(ctx, client.ObjectKey{Name: name}, cluster)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // nil is the cluster that does not exist
	}
	if err != nil {
		return nil, fmt.Errorf("reading ManagedCluster %s: %w", name, err)
	}
	return cluster, nil
}

// listRequests returns the requests of a cluster. They are those of the cache, and must not be changed.
func (r *reconciler) listRequests(ctx context.Context, name string) ([]*certificatesv1.CertificateSigningRequest, error) {
	list := &certificatesv1.CertificateSigningRequestList{}
	if err := r.client.List(ctx, list, client.MatchingFields{requestsByCluster: name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the certificate requests of ManagedCluster %s: %w", name, err)
	}
	out := make([]*certificatesv1.CertificateSigningRequest, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}

// open returns the requests that are neither approved, denied nor signed.
func open(requests []*certificatesv1.CertificateSigningRequest) []*certificatesv1.CertificateSigningRequest {
	return slices.DeleteFunc(slices.Clone(requests), approval.Finished)
}

// first sorts requests and returns maxOpen of them: those of the agents of the cluster and of its recorded requester, then the
// others, each the oldest first. Any user with the permission may label a request with any cluster, and must not starve these.
func first(requests []*certificatesv1.CertificateSigningRequest, name string,
	cluster *clusterv1.ManagedCluster,
) []*certificatesv1.CertificateSigningRequest {
	recorded := ""
	if cluster != nil {
		recorded = cluster.Annotations[clusterv1.JoinRequesterAnnotationKey]
	}
	rank := func(request *certificatesv1.CertificateSigningRequest) int {
		user := request.Spec.Username
		if of, _, ok := registration.ParseAgentUser(user); ok && of == name || recorded != "" && user == recorded {
			return 0
		}
		return 1
	}
	slices.SortFunc(requests, func(a, b *certificatesv1.CertificateSigningRequest) int {
		return cmp.Or(rank(a)-rank(b), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return requests[:min(len(requests), maxOpen)]
}
