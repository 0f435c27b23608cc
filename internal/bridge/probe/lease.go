package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/lease"
	"github.com/berth-project/berth/internal/membership/registration"
)

// holder is the holder of a lease that the probe renews. maxSent bounds the times that it stores.
const (
	holder  = "berth-probe"
	maxSent = 64
)

var (
	errAgentReports = errors.New("an agent renews the lease")
	errNoLease      = errors.New("this is no lease")
)

// leases renews the lease as the probe, and gives way to an agent: agents change only the time of renewal, so a time that the probe did
// not write is an agent's. One goroutine uses it.
type leases struct {
	lease.Hub

	clock clock.PassiveClock
	view  *view

	// sent are the last times that the probe wrote or tried to write: the hub may store one whose response is lost.
	sent []time.Time
	// seen is the last time that another client wrote, and seenAt is when this process read it.
	seen, seenAt time.Time
}

// Get implements lease.Hub. It fails while an agent renews the lease.
func (l *leases) Get(ctx context.Context, object client.Object, into runtime.Object) error {
	if err := l.Hub.Get(ctx, object, into); err != nil {
		return err //nolint:wrapcheck // the client names the lease
	}
	stored, ok := into.(*coordinationv1.Lease)
	if !ok {
		return errNoLease
	}
	agent := l.agentRenews(stored)
	if agent != l.view.agentReports() {
		l.view.update(func(v *view) { v.agent = agent })
	}
	if !agent {
		return nil
	}
	if held(stored) { // so that a manager that starts later recognizes the agent
		next := stored.DeepCopy()
		next.Spec.HolderIdentity = new(clusterv1.ManagedClusterLeaseName)
		if err := l.Hub.Update(ctx, object, next, &coordinationv1.Lease{}); err != nil {
			return fmt.Errorf("%w; naming it the holder: %w", errAgentReports, err)
		}
	}
	return errAgentReports
}

// agentRenews returns whether an agent has renewed the lease within its grace period, as this process saw it. Before the first report
// of a cluster its lease is the hub's.
func (l *leases) agentRenews(stored *coordinationv1.Lease) bool {
	var renewed time.Time
	if stored.Spec.RenewTime != nil {
		renewed = stored.Spec.RenewTime.Truncate(time.Microsecond)
	}
	known := leased{l.view}.State().Cluster
	switch {
	case known == nil, len(l.sent) == 0 && (held(stored) || !registration.Reported(known)), slices.ContainsFunc(l.sent, renewed.Equal):
		return false
	case !renewed.Equal(l.seen):
		l.seen, l.seenAt = renewed, l.clock.Now()
		return true
	default:
		return l.clock.Now().Sub(l.seenAt) < registration.GracePeriod(known)
	}
}

func held(stored *coordinationv1.Lease) bool {
	return stored.Spec.HolderIdentity != nil && *stored.Spec.HolderIdentity == holder
}

// Update implements lease.Hub.
func (l *leases) Update(ctx context.Context, object client.Object, body, into runtime.Object) error {
	next, ok := body.(*coordinationv1.Lease)
	if !ok {
		return errNoLease
	}
	next.Spec.HolderIdentity = new(holder)
	if next.Spec.RenewTime != nil {
		l.sent = append(l.sent[max(0, len(l.sent)-maxSent+1):], next.Spec.RenewTime.Truncate(time.Microsecond))
	}
	return l.Hub.Update(ctx, object, next, into) //nolint:wrapcheck // the client names the lease
}
