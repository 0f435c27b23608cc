// Package election lets one agent of a member work at a time, by a Lease on the member.
//
// It owns the lease. An agent that cannot renew it stops before another one may begin: the clocks of both need not agree, because each
// agent measures with its own clock how long the lease has not changed. The invariant: Run calls its function only while the lease is
// held, and the function has returned before the lease may be lost.
package election

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/client"
)

const (
	// Name is the name of the lease.
	Name = "berth-agent"
	// duration is how long a lease is valid without a renewal. A holder renews it each renewInterval, and stops work after
	// renewDeadline without a renewal. A candidate looks each retryInterval.
	duration      = 60 * time.Second
	renewInterval = 20 * time.Second
	renewDeadline = 40 * time.Second
	retryInterval = 5 * time.Second
)

var errHeld = errors.New("another agent of this member works, and holds the lease")

// Leases reads and writes leases.
type Leases interface {
	Get(ctx context.Context, object client.Object, into runtime.Object) error
	Create(ctx context.Context, object client.Object, body, into runtime.Object) error
	Update(ctx context.Context, object client.Object, body, into runtime.Object) error
}

// Memory is what an agent keeps in the lease for its next process.
type Memory interface {
	Recall(found *coordinationv1.Lease)
	Keep(next *coordinationv1.Lease)
}

// Elector holds the lease of one agent. Report receives why the agent does not work; nil while it does.
type Elector struct {
	Leases    Leases
	Namespace string
	// Identity is the same after a restart of the same agent, which then goes on at once.
	Identity string
	Clock    clock.Clock
	Report   func(error)
	// Restored is called when the member returned to older data: it has a lease of this agent from before its last renewal, or another one.
	// Nil means that no part depends on it.
	Restored func()
	// Memory is kept in the lease; nil keeps nothing.
	Memory Memory
	Log    *slog.Logger

	// written is the lease that the agent wrote last.
	written *coordinationv1.Lease
	// seen is the lease as it was read last, seenAt when it was first read so.
	seen   coordinationv1.LeaseSpec
	seenAt time.Time
}

// Run calls lead while the lease is held, until the context ends. The context of lead ends when the lease may be lost.
func (e *Elector) Run(ctx context.Context, lead func(context.Context)) {
	for ctx.Err() == nil {
		held, err := e.acquire(ctx)
		e.Report(err)
		if err != nil {
			if !errors.Is(err, errHeld) {
				e.Log.Warn("the lease of the agent was not acquired", "error", err)
			}
			_ = backoff.Sleep(ctx, e.Clock, retryInterval) // the loop ends with the context
			continue
		}
		e.Log.Info("the lease of the agent is held", "identity", e.Identity)
		e.lead(ctx, held, lead)
	}
}

// lead calls lead until the lease cannot be renewed or the context ends, and then gives the lease back.
func (e *Elector) lead(ctx context.Context, held *coordinationv1.Lease, lead func(context.Context)) {
	leading, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); lead(leading) }()
	held = e.renew(leading, held)
	stop()
	<-ended
	if ctx.Err() == nil {
		e.Log.Error("the lease of the agent was not renewed; the agent stops work until it holds the lease again")
		return
	}
	e.release(context.WithoutCancel(ctx), held)
}

// renew renews the lease until that fails for too long or the context ends, and returns the lease as it is stored.
func (e *Elector) renew(ctx context.Context, held *coordinationv1.Lease) *coordinationv1.Lease {
	renewed := e.Clock.Now()
	for wait := renewInterval; backoff.Sleep(ctx, e.Clock, wait) == nil; {
		next, err := e.store(ctx, held)
		switch {
		case err == nil:
			held, renewed, wait = next, e.Clock.Now(), renewInterval
			continue
		case apierrors.IsConflict(err): // another agent has the lease, or an administrator has changed it
			return held
		}
		e.Log.Warn("the lease of the agent was not renewed", "error", err)
		if wait = retryInterval; e.Clock.Since(renewed)+wait >= renewDeadline {
			return held
		}
	}
	return held
}

// acquire takes the lease, and returns it as it is stored.
func (e *Elector) acquire(ctx context.Context) (*coordinationv1.Lease, error) {
	stored := &coordinationv1.Lease{}
	err := e.Leases.Get(ctx, e.object(Name), stored)
	if apierrors.IsNotFound(err) {
		stored = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: Name}}
		err = e.Leases.Create(ctx, e.object(""), stored, stored)
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // the client names the lease
	}
	e.compare(stored)
	if e.Memory != nil {
		e.Memory.Recall(stored)
	}
	holder := ""
	if stored.Spec.HolderIdentity != nil {
		holder = *stored.Spec.HolderIdentity
	}
	if holder != "" && holder != e.Identity && !e.expired(stored.Spec) {
		return nil, fmt.Errorf("%w: %s", errHeld, holder)
	}
	return e.store(ctx, stored)
}

// expired returns whether the lease has not changed for as long as it is valid.
func (e *Elector) expired(spec coordinationv1.LeaseSpec) bool {
	now := e.Clock.Now()
	if e.seenAt.IsZero() || !e.seen.RenewTime.Equal(spec.RenewTime) || *e.seen.HolderIdentity != *spec.HolderIdentity {
		e.seen, e.seenAt = spec, now
		return false
	}
	return now.Sub(e.seenAt) >= duration
}

// store writes the agent as the holder. The API server refuses the write of a lease that has changed since.
func (e *Elector) store(ctx context.Context, held *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	next, now, seconds := held.DeepCopy(), metav1.NewMicroTime(e.Clock.Now()), int32(duration/time.Second)
	if next.Spec.HolderIdentity == nil || *next.Spec.HolderIdentity != e.Identity {
		transitions := int32(1)
		if next.Spec.LeaseTransitions != nil {
			transitions += *next.Spec.LeaseTransitions
		}
		next.Spec.AcquireTime, next.Spec.LeaseTransitions = &now, &transitions
	}
	next.Spec.HolderIdentity, next.Spec.RenewTime, next.Spec.LeaseDurationSeconds = &e.Identity, &now, &seconds
	if e.Memory != nil {
		e.Memory.Keep(next)
	}
	stored := &coordinationv1.Lease{}
	if err := e.Leases.Update(ctx, e.object(Name), next, stored); err != nil {
		return nil, err //nolint:wrapcheck // the client names the lease
	}
	e.written = stored
	return stored, nil
}

// compare reports a lease that the agent wrote before its last renewal, or another one.
func (e *Elector) compare(found *coordinationv1.Lease) {
	if e.written == nil || e.Restored == nil {
		return
	}
	mine := found.Spec.HolderIdentity != nil && *found.Spec.HolderIdentity == e.Identity
	if found.UID != e.written.UID || mine && found.Spec.RenewTime.Before(e.written.Spec.RenewTime) {
		e.Log.Warn("the member returned to older data; the agent reads everything again", "lease", Name)
		e.written = nil
		e.Restored()
	}
}

// release lets another agent begin at once.
func (e *Elector) release(ctx context.Context, held *coordinationv1.Lease) {
	next, none := held.DeepCopy(), ""
	next.Spec.HolderIdentity = &none
	if err := e.Leases.Update(ctx, e.object(Name), next, &coordinationv1.Lease{}); err != nil {
		e.Log.Info("the lease of the agent was not given back; another agent waits until it expires", "error", err)
	}
}

func (e *Elector) object(name string) client.Object {
	return client.Object{Resource: coordinationv1.SchemeGroupVersion.WithResource("leases"), Namespace: e.Namespace, Name: name}
}
