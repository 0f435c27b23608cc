package lease

import (
	"context"
	"errors"
	"log/slog"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/cluster"
)

const (
	minRetry = time.Second
	maxRetry = 60 * time.Second
	// idle is how long to wait for a change of a cluster that is not accepted.
	idle = time.Hour
)

// errOlder is the error of a hub that has older data than at the last renewal.
var errOlder = errors.New("the hub has older data than at the last renewal of the lease")

// Hub reads and writes leases.
type Hub interface {
	Get(ctx context.Context, object client.Object, into runtime.Object) error
	Update(ctx context.Context, object client.Object, body, into runtime.Object) error
}

// Gate returns from Wait when requests to the hub may be sent.
type Gate interface {
	Wait(ctx context.Context) error
	SetSpread(period time.Duration)
}

// Cluster is the ManagedCluster of the agent.
type Cluster interface {
	State() cluster.State
	Changed() <-chan struct{}
}

// Renewer renews one lease. Report receives the last failure, for the health page; nil after a renewal. Restored is called when the hub
// returns an older version or count than before, or another lease: it runs on older data, as after a restore. A watch from before misses
// what the hub stores until its versions are as high again.
type Renewer struct {
	Hub     Hub
	Gate    Gate
	Cluster Cluster
	Clock   clock.Clock
	Random  func() float64
	Name    string
	Report  func(error)
	// Restored is called at most once for each return of the hub to older data.
	Restored func()
	// Counter counts the renewals on the hub. It outlasts a Renewer; nil means another one.
	Counter *Counter
	// Verified returns when the statuses of all works were last verified, for spec.acquireTime; zero while that is not known, and then
	// the lease keeps the time that it has. Nil means that no works are kept.
	Verified func() time.Time
	Log      *slog.Logger

	// newest is the highest version that the hub returned.
	newest string
	// stored is the lease as the hub returned it; nil means to read it first.
	stored *coordinationv1.Lease
}

// Renew renews the lease of a cluster once.
func Renew(ctx context.Context, hub Hub, cluster string, at clock.Clock) error {
	return (&Renewer{Hub: hub, Name: cluster, Clock: at}).readAndUpdate(ctx)
}

// Run renews the lease until the context ends, while the hub accepts the cluster.
func (r *Renewer) Run(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		changed, state := r.Cluster.Changed(), r.Cluster.State()
		if !state.Accepted() {
			r.Report(nil)
			_ = backoff.SleepUntil(ctx, r.Clock, idle, changed) // the loop ends with the context
			continue
		}
		r.Gate.SetSpread(Duration(state.Cluster.Spec.LeaseDurationSeconds))
		if r.Gate.Wait(ctx) != nil {
			return
		}
		err := r.renew(ctx)
		r.Report(err)
		if err == nil {
			failures = 0
			r.awaitNext(ctx)
			continue
		}
		failures++
		r.Log.Warn("the lease was not renewed", "error", err, "failures", failures)
		limit := retryLimit(state.Cluster.Spec.LeaseDurationSeconds)
		_ = backoff.Sleep(ctx, r.Clock, backoff.FullJitter(failures, minRetry, limit, r.Random())) // the loop ends with the context
	}
}

// awaitNext waits for the next renewal. A change of the lease duration applies at once, and so does a denial.
func (r *Renewer) awaitNext(ctx context.Context) {
	renewed, random := r.Clock.Now(), r.Random()
	for {
		changed, state := r.Cluster.Changed(), r.Cluster.State()
		if !state.Accepted() {
			return
		}
		left := renewed.Add(Period(state.Cluster.Spec.LeaseDurationSeconds, random)).Sub(r.Clock.Now())
		if left <= 0 || backoff.SleepUntil(ctx, r.Clock, left, changed) != nil {
			return
		}
	}
}

// renew writes the time of renewal. After a conflict it reads the lease again, once.
func (r *Renewer) renew(ctx context.Context) error {
	if r.stored == nil {
		return r.readAndUpdate(ctx)
	}
	err := r.update(ctx)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return r.readAndUpdate(ctx)
	}
	return err
}

func (r *Renewer) readAndUpdate(ctx context.Context) error {
	stored := &coordinationv1.Lease{}
	if err := r.Hub.Get(ctx, client.Lease(r.Name), stored); err != nil {
		return err //nolint:wrapcheck // the client names the lease
	}
	r.stored = stored
	r.observe(stored, r.counter().Older(stored))
	return r.update(ctx)
}

func (r *Renewer) update(ctx context.Context) error {
	next := r.stored.DeepCopy()
	now := metav1.NewMicroTime(r.Clock.Now())
	next.Spec.RenewTime = &now
	if r.Verified != nil {
		if verified := r.Verified(); !verified.IsZero() {
			next.Spec.AcquireTime = new(metav1.NewMicroTime(verified))
		}
	}
	raise(next)
	stored := &coordinationv1.Lease{}
	if err := r.Hub.Update(ctx, client.Lease(r.Name), next, stored); err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			r.stored = nil
		}
		return err //nolint:wrapcheck // the client names the lease
	}
	r.stored = stored
	r.observe(stored, false)
	return nil
}

func (r *Renewer) counter() *Counter {
	if r.Counter == nil {
		r.Counter = &Counter{}
	}
	return r.Counter
}

// Confirm returns an error unless the hub has the data of the last renewal. What follows from what the hub lacks must not happen then.
func (r *Renewer) Confirm(ctx context.Context) error {
	found := &coordinationv1.Lease{}
	if err := r.Hub.Get(ctx, client.Lease(r.Name), found); err != nil {
		return err //nolint:wrapcheck // the client names the lease
	}
	if r.Counter != nil && r.Counter.Older(found) {
		return errOlder
	}
	return nil
}

// observe compares the version of a lease that the hub returned with the highest one before. The versions of one hub only grow. Older is
// set where the count in the lease is lower than before.
func (r *Renewer) observe(returned *coordinationv1.Lease, older bool) {
	r.counter().Record(returned)
	order, err := resourceversion.CompareResourceVersion(returned.ResourceVersion, r.newest)
	before := r.newest
	r.newest = returned.ResourceVersion
	if before != "" && err == nil && order < 0 || older {
		r.Log.Warn("the hub returned to older data; the agent reads everything again", "cluster", r.Name,
			"count", countOf(returned), "version", returned.ResourceVersion, "before", before)
		r.Restored()
	}
}
