// Package ocm owns the check whether the registration controller of Open Cluster Management runs on the hub. Two controllers of
// registration would overwrite each other's roles, so those of Berth write nothing while it runs.
//
// It changes nothing on the hub. The invariant: until a check has succeeded, the other controller counts as running.
package ocm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	namespace  = "open-cluster-management-hub"
	deployment = "cluster-manager-registration-controller"
	// lease is the lease of the leader, where the controller runs outside of the hub.
	lease = "registration-controller-lock"
	// leaseLife is how long after its last renewal a lease counts as held.
	leaseLife = 5 * time.Minute
	// interval is the time between checks.
	interval = 30 * time.Second
)

var errRunning = errors.New("the registration controller of Open Cluster Management runs on this hub")

// Monitor checks the hub at the start and periodically. It is safe for concurrent use.
type Monitor struct {
	// Hub must not read from a cache.
	Hub   client.Reader
	Clock clock.WithTicker

	mu      sync.Mutex
	checked bool
	// found is where the other controller was found; empty where it does not run.
	found string
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica warns.
func (*Monitor) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (m *Monitor) Start(ctx context.Context) error {
	ticker := m.Clock.NewTicker(interval)
	defer ticker.Stop()
	for {
		m.check(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// check logs a change since the last check. A failed read changes nothing.
func (m *Monitor) check(ctx context.Context) {
	found, err := Find(ctx, m.Hub, m.Clock.Now())
	if err != nil {
		if ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "checking for the registration controller of Open Cluster Management failed; retrying", "interval", interval)
		}
		return
	}
	m.mu.Lock()
	before, checked := m.found, m.checked
	m.found, m.checked = found, true
	m.mu.Unlock()
	switch {
	case found != "" && (!checked || before == ""):
		log.FromContext(ctx).Error(fmt.Errorf("%w: %s", errRunning, found), "the controllers acceptance, csr and addon write nothing until it is scaled to 0")
	case found == "" && before != "":
		log.FromContext(ctx).Info("the registration controller of Open Cluster Management does not run any more; the controllers acceptance, csr and addon write again")
	}
}

// Blocked reports whether the controllers of registration must write nothing.
func (m *Monitor) Blocked() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.checked || m.found != ""
}

// Warnings returns one line for pages while the other controller runs.
func (m *Monitor) Warnings() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.found == "" {
		return nil
	}
	return []string{fmt.Sprintf("%v (%s): the controllers acceptance, csr and addon write nothing; scale it to 0, or run the manager without them", errRunning, m.found)}
}

// Find returns where the registration controller of Open Cluster Management was found; empty where it does not run.
func Find(ctx context.Context, hub client.Reader, now time.Time) (string, error) {
	workload := &appsv1.Deployment{}
	err := hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: deployment}, workload)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading Deployment %s/%s: %w", namespace, deployment, err)
	}
	if !apierrors.IsNotFound(err) && (workload.Spec.Replicas == nil || *workload.Spec.Replicas > 0) {
		return "Deployment " + namespace + "/" + deployment, nil
	}
	lock := &coordinationv1.Lease{}
	if err := hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: lease}, lock); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading Lease %s/%s: %w", namespace, lease, err)
	}
	if lock.Spec.RenewTime != nil && lock.Spec.HolderIdentity != nil && *lock.Spec.HolderIdentity != "" && now.Sub(lock.Spec.RenewTime.Time) < leaseLife {
		return "Lease " + namespace + "/" + lease, nil
	}
	return "", nil
}
