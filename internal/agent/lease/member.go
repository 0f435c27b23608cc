package lease

import (
	"context"
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
	// MemberName is the name of the lease that an agent outside of its member writes there, in the namespace kube-system.
	MemberName = "berth-agent"
	// memberInterval is the time between two writes of it.
	memberInterval = time.Minute
	// refusedInterval is when a member that refuses the lease is tried again.
	refusedInterval = time.Hour
)

// Member notices that the member returned to older data, by a lease that it writes each minute.
type Member struct {
	Leases interface {
		Hub
		Create(ctx context.Context, object client.Object, body, into runtime.Object) error
	}
	Clock clock.Clock
	// Interval is the time between two writes; 0 means a minute.
	Interval time.Duration
	// Restored is called once for each return of the member to older data.
	Restored func()
	// Memory keeps the count of the hub in the lease; nil keeps none.
	Memory *Memory
	Log    *slog.Logger

	counter Counter
	refused bool
}

// Recall reads what an earlier process kept in the lease. Run reads it too, and reports a failure.
func (m *Member) Recall(ctx context.Context) {
	found := &coordinationv1.Lease{}
	if err := m.Leases.Get(ctx, memberLease(), found); err == nil && m.Memory != nil {
		m.Memory.Recall(found)
	}
}

// memberLease is where the lease is.
func memberLease() client.Object {
	return client.Object{
		Resource: coordinationv1.SchemeGroupVersion.WithResource("leases"), Namespace: metav1.NamespaceSystem, Name: MemberName,
	}
}

// Run writes the lease until the context ends.
func (m *Member) Run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := memberInterval
		if m.Interval > 0 {
			wait = m.Interval
		}
		switch err := m.write(ctx); {
		case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
			wait = refusedInterval
			if !m.refused {
				m.refused = true
				m.Log.Warn("the agent cannot notice that its member returned to older data: grant it get and update on the Lease "+MemberName+
					" in the namespace "+metav1.NamespaceSystem+", and create on leases there", "error", err)
			}
		case err != nil && !apierrors.IsConflict(err):
			m.Log.Debug("the lease on the member was not written", "error", err)
		}
		_ = backoff.Sleep(ctx, m.Clock, wait) // the loop ends with the context
	}
}

// write reads the lease, compares it with the last one, and writes the next count.
func (m *Member) write(ctx context.Context) error {
	at := memberLease()
	found := &coordinationv1.Lease{}
	err := m.Leases.Get(ctx, at, found)
	if apierrors.IsNotFound(err) {
		found = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: MemberName}}
		at := at
		at.Name = ""
		err = m.Leases.Create(ctx, at, found, found)
	}
	if err != nil {
		return err //nolint:wrapcheck // the client names the lease
	}
	if m.Memory != nil {
		m.Memory.Recall(found)
	}
	older := m.counter.Older(found)
	m.counter.Record(found)
	if older {
		m.Log.Warn("the member returned to older data; the agent reads everything again", "lease", MemberName)
		m.Restored()
	}
	next, now := found.DeepCopy(), metav1.NewMicroTime(m.Clock.Now())
	next.Spec.RenewTime = &now
	raise(next)
	if m.Memory != nil {
		m.Memory.Keep(next)
	}
	stored := &coordinationv1.Lease{}
	if err := m.Leases.Update(ctx, at, next, stored); err != nil {
		return err //nolint:wrapcheck // the client names the lease
	}
	m.counter.Record(stored)
	return nil
}
