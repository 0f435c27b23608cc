package placement

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/placement/history"
	"github.com/berth-project/berth/internal/placement/live"
)

const (
	syncPoll      = 20 * time.Millisecond
	auditInterval = 30 * time.Second
	// taintTimeout bounds how long the first decision waits for the taints of clusters that never joined.
	taintTimeout = 30 * time.Second
)

// source enqueues the placements that a change may affect. It is a controller-runtime source, synced once its state has every
// object that existed at the start.
type source struct {
	cache       cache.Cache
	clock       clock.WithTicker
	record      *history.Record
	fleet       *live.Fleet
	stored      *live.Stored
	scores      *scoreDebouncer
	queue       workqueue.TypedRateLimitingInterface[reconcile.Request]
	synced      func() bool
	withdrawals withdrawals
	brakes      *brakes
	// tainted is closed once the clusters that never joined are tainted. Nil: the source does not wait.
	tainted <-chan struct{}
	// hub reports changes of the CustomResourceDefinitions. Nil: they never change.
	hub Hub
	// definitions reports whether a definition is missing. Nil: none ever is.
	definitions Definitions
}

func newSource(cache cache.Cache, hub client.Reader, options Options) *source {
	s := &source{
		cache: cache, clock: options.Clock, record: options.Record, tainted: options.Tainted, hub: options.Hub, definitions: options.Definitions,
	}
	s.scores = newScoreDebouncer(options.Clock, s.enqueue)
	s.fleet, s.stored = live.New(options.Env, options.Clock, s.enqueueNow, s.enqueueDebounced)
	s.brakes = newBrakes(options, s.enqueueNow)
	s.stored.HoldWithdrawals(options.WithdrawalGrace)
	s.stored.SetRules(options.rules())
	s.withdrawals = withdrawals{fleet: s.fleet, hub: hub, clock: options.Clock}
	if options.Definitions != nil {
		s.stored.KeepWhile(options.Definitions.Holds)
		s.withdrawals.held = options.Definitions.Holds
	}
	if options.BuiltIn {
		s.fleet.AssumeBuiltInSets()
	}
	return s
}

// Start starts the watches. It does not block.
func (s *source) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.queue = queue
	synced, err := live.Watch(ctx, s.cache, s.fleet, s.stored, s.brakes.brake)
	if err != nil {
		return fmt.Errorf("watching the fleet: %w", err)
	}
	s.synced = synced
	go s.audit(ctx)
	go s.withdrawals.run(ctx)
	go s.brakes.run(ctx)
	return nil
}

// WaitForSync blocks until the first decision may be made.
func (s *source) WaitForSync(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, syncPoll, true, func(context.Context) (bool, error) { return s.synced(), nil })
	if err != nil {
		return fmt.Errorf("waiting for the fleet to be read: %w", err)
	}
	if err := s.waitForTaints(ctx); err != nil {
		return err
	}
	s.stored.Ready()
	s.record.SetLeader(s.stored)
	return nil
}

// waitForTaints blocks until the clusters that never joined are tainted, so that the first decisions do not select them. It returns
// after taintTimeout at the latest: one cluster that cannot be tainted must not block every placement.
func (s *source) waitForTaints(ctx context.Context) error {
	if s.tainted == nil {
		return nil
	}
	select {
	case <-s.tainted:
		return s.waitForClusters(ctx)
	case <-ctx.Done():
		return fmt.Errorf("waiting for clusters to be tainted: %w", ctx.Err())
	case <-s.clock.After(taintTimeout):
		log.FromContext(ctx).Info("WARNING: clusters that never joined are not all tainted yet; deciding placements anyway", "waited",
			taintTimeout)
		return nil
	}
}

// waitForClusters blocks until the state of each cluster is as new as that in the cache. Each handler of an informer has a queue, so
// that the health controller can see a taint before this source does.
func (s *source) waitForClusters(ctx context.Context) error {
	clusters := &clusterv1.ManagedClusterList{}
	if err := s.cache.List(ctx, clusters, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing clusters: %w", err)
	}
	err := wait.PollUntilContextCancel(ctx, syncPoll, true, func(context.Context) (bool, error) {
		return s.fleet.HasClusters(clusters.Items), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the taints of clusters to be read: %w", err)
	}
	return nil
}

// enqueueNow enqueues a placement at once.
func (s *source) enqueueNow(key fleet.Key, cause explain.Cause) {
	s.record.AddCause(key, cause)
	s.enqueue(key)
}

// enqueueDebounced enqueues a placement once scores have stopped changing.
func (s *source) enqueueDebounced(key fleet.Key, cause explain.Cause) {
	s.record.AddCause(key, cause)
	s.scores.add(key)
}

func (s *source) enqueue(key fleet.Key) {
	s.queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: key.Namespace, Name: key.Name}})
}

// audit ends lost writes and publishes heartbeats periodically. It enqueues every placement after a change of the
// CustomResourceDefinitions.
func (s *source) audit(ctx context.Context) {
	ticker := s.clock.NewTicker(auditInterval)
	defer ticker.Stop()
	var changed <-chan struct{} // nil: nothing is ever received
	if s.hub != nil {
		changed = s.hub.Changed()
	}
	var held <-chan struct{}
	if s.definitions != nil {
		held = s.definitions.Changed()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			s.stored.Refresh(causeDefinitionsChanged)
		case <-held:
			s.stored.Refresh(causeDefinitionsChanged)
		case <-ticker.C():
			s.stored.Audit()
			s.fleet.Publish()
		}
	}
}
