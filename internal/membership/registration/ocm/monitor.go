// Package ocm owns the check whether a controller of Open Cluster Management runs on the hub that does the work of one of Berth's. Two
// such controllers would overwrite each other's objects, so those of Berth write nothing while it runs.
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
	namespace = "open-cluster-management-hub"
	// leaseLife is how long after its last renewal a lease counts as held.
	leaseLife = 5 * time.Minute
	// interval is the time between checks.
	interval = 30 * time.Second
)

var errRunning = errors.New("a controller of Open Cluster Management runs on this hub")

// Rival is a controller of Open Cluster Management, and what stops while it runs.
type Rival struct {
	// Name is what the controller does, such as "registration".
	Name string
	// Deployment and Lease are in the namespace of the hub's controllers. The lease finds a controller that runs outside of the hub.
	Deployment, Lease string
	// Stopped are the controllers of Berth that write nothing, such as "controllers acceptance and csr".
	Stopped string
}

// Registration returns the controller that registers clusters.
func Registration() Rival {
	return Rival{
		"registration", "cluster-manager-registration-controller", "registration-controller-lock",
		"controllers acceptance, csr and addon",
	}
}

// Work returns the controller that keeps ManifestWorkReplicaSets.
func Work() Rival {
	return Rival{"work", "cluster-manager-work-controller", "work-manager-lock", "controller replicaset"}
}

// AddOns returns the controller that installs add-ons.
func AddOns() Rival {
	return Rival{"add-ons", "cluster-manager-addon-manager-controller", "addon-manager-lock", "controller addoninstall"}
}

// Monitor checks the hub at the start and periodically. It is safe for concurrent use.
type Monitor struct {
	// Hub must not read from a cache.
	Hub   client.Reader
	Clock clock.WithTicker
	Rival Rival

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
	found, err := Find(ctx, m.Hub, m.Rival, m.Clock.Now())
	if err != nil {
		if ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "checking for a controller of Open Cluster Management failed; retrying", "name", m.Rival.Name,
				"interval", interval)
		}
		return
	}
	m.mu.Lock()
	before, checked := m.found, m.checked
	m.found, m.checked = found, true
	m.mu.Unlock()
	switch {
	case found != "" && (!checked || before == ""):
		log.FromContext(ctx).Error(fmt.Errorf("%w: %s", errRunning, found), "no writes before it is scaled to 0", "stopped", m.Rival.Stopped)
	case found == "" && before != "":
		log.FromContext(ctx).Info("the controller of Open Cluster Management does not run any more; Berth writes again", "name", m.Rival.Name,
			"stopped", m.Rival.Stopped)
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
	return []string{fmt.Sprintf("%v (%s), so Berth's %s must not write; scale it to 0, or run the manager without them", errRunning, m.found,
		m.Rival.Stopped)}
}

// Find returns where a controller of Open Cluster Management was found; empty where it does not run.
func Find(ctx context.Context, hub client.Reader, rival Rival, now time.Time) (string, error) {
	workload := &appsv1.Deployment{}
	err := hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: rival.Deployment}, workload)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading Deployment %s/%s: %w", namespace, rival.Deployment, err)
	}
	if !apierrors.IsNotFound(err) && (workload.Spec.Replicas == nil || *workload.Spec.Replicas > 0) {
		return "Deployment " + namespace + "/" + rival.Deployment, nil
	}
	lock := &coordinationv1.Lease{}
	if err := hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: rival.Lease}, lock); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading Lease %s/%s: %w", namespace, rival.Lease, err)
	}
	if lock.Spec.RenewTime != nil && lock.Spec.HolderIdentity != nil && *lock.Spec.HolderIdentity != "" &&
		now.Sub(lock.Spec.RenewTime.Time) < leaseLife {
		return "Lease " + namespace + "/" + rival.Lease, nil
	}
	return "", nil
}
