package guard

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// interval is the time between checks.
	interval = 5 * time.Minute
	// cacheTTL is how long an answer about a guard is reused.
	cacheTTL = 30 * time.Second
)

// Monitor checks the hub at the start and periodically, and stores the result. It is safe for concurrent use.
type Monitor struct {
	// Roles may read from a cache, Hub must not.
	Roles, Hub client.Reader
	// Serving is set if this manager registers its webhooks.
	Serving bool
	Clock   clock.WithTicker

	mu        sync.Mutex
	unguarded []Unguarded
	// answers are the recent answers about guards, by name.
	answers map[string]answer
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

// check logs the changes since the last check. A failed read changes nothing.
func (m *Monitor) check(ctx context.Context) {
	now, err := Check(ctx, m.Roles, m.Hub, m.Serving)
	if err != nil {
		if ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "checking the guards of roles failed; retrying", "interval", interval)
		}
		return
	}
	m.mu.Lock()
	before := m.unguarded
	m.unguarded = now
	m.mu.Unlock()
	for _, unguarded := range now {
		if !slices.Contains(before, unguarded) {
			log.FromContext(ctx).Info("warning: "+unguarded.String(), "role", unguarded.Role)
		}
	}
	for _, unguarded := range before {
		if !slices.Contains(now, unguarded) {
			log.FromContext(ctx).Info("the ClusterRole is guarded or deleted", "role", unguarded.Role)
		}
	}
}

// Unguarded returns a copy of the last result.
func (m *Monitor) Unguarded() []Unguarded {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.unguarded)
}

// answer is whether a guard is in force, as of an instant.
type answer struct {
	inForce bool
	at      time.Time
}

// SetAdminsInForce reports whether the policy SetAdmins is in force, at most cacheTTL ago.
func (m *Monitor) SetAdminsInForce(ctx context.Context) (bool, error) {
	return m.cached(SetAdmins, func() (bool, error) { return policyInForce(ctx, m.Hub, SetAdmins, "") })
}

// GrantLabelGuarded is the function of this name, at most cacheTTL ago.
func (m *Monitor) GrantLabelGuarded(ctx context.Context) (bool, error) {
	return m.cached(bindings, func() (bool, error) { return GrantLabelGuarded(ctx, m.Hub) })
}

// RolloutUsersInForce reports whether the policy is in force by which users decide on rollouts in their own name, at most cacheTTL ago.
func (m *Monitor) RolloutUsersInForce(ctx context.Context) (bool, error) {
	return m.cached(rolloutUsers, func() (bool, error) { return policyInForce(ctx, m.Hub, rolloutUsers, "") })
}

// cached returns the answer about a guard, and reads it again when it is older than cacheTTL.
func (m *Monitor) cached(name string, read func() (bool, error)) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.Clock.Now()
	if known, ok := m.answers[name]; ok && now.Sub(known.at) < cacheTTL {
		return known.inForce, nil
	}
	inForce, err := read()
	if err != nil {
		return false, err
	}
	if m.answers == nil {
		m.answers = map[string]answer{}
	}
	m.answers[name] = answer{inForce, now}
	return inForce, nil
}
