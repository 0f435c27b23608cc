package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/cluster"
	"github.com/berth-project/berth/internal/agent/credential"
	"github.com/berth-project/berth/internal/agent/lease"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	// handOverLimit bounds one attempt to move to another hub.
	handOverLimit = 3 * time.Minute
	// minHandOverRetry and maxHandOverRetry bound the pause after an attempt that failed.
	minHandOverRetry = 2 * time.Second
	maxHandOverRetry = 2 * time.Minute
)

var (
	errMoved    = errors.New("the agent has moved to another hub")
	errOtherHub = errors.New("the hub that this hub hands the agent over to is another hub")
)

// followHandOver moves the agent to another hub once its hub hands it over. It returns when the credential of the other hub is stored, or
// when the context ends. The hub that hands over was verified by its CA.
func (s *session) followHandOver(ctx context.Context) {
	report := s.process.health.reporter("hand-over")
	defer report(nil)
	for failures := 0; ; {
		changed, state := s.cluster.Changed(), s.cluster.State()
		hash := ""
		if state.Access == cluster.Present && state.Accepted() {
			hash = state.Cluster.Annotations[clusterv1.HandOverAnnotationKey]
		}
		if hash == "" {
			if failures = 0; backoff.SleepUntil(ctx, s.process.clock, time.Hour, changed) != nil {
				return
			}
			continue
		}
		err := s.move(ctx, state.Cluster, hash)
		if err == nil || ctx.Err() != nil {
			return
		}
		failures++
		report(err)
		s.process.log.Warn("the agent has not moved to the hub that it is handed over to", "error", err)
		if backoff.Sleep(ctx, s.process.clock, minHandOverRetry+backoff.FullJitter(failures, minHandOverRetry, maxHandOverRetry,
			s.process.random())) != nil {
			return
		}
	}
}

// move gets a credential of the other hub, and stores it once the lease was renewed there. Until then the agent stays with its hub. A
// credential from an earlier attempt is used again, because the token is good for one.
func (s *session) move(ctx context.Context, known *clusterv1.ManagedCluster, hash string) error {
	ctx, cancel := context.WithTimeout(ctx, handOverLimit)
	defer cancel()
	if s.handOver != hash {
		next, err := s.obtainElsewhere(ctx, known, hash)
		if err != nil {
			return err
		}
		s.next, s.handOver = next, hash
	}
	if err := s.renewElsewhere(ctx, known); err != nil {
		return err
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	if err := s.process.save(ctx, s.next); err != nil {
		return err
	}
	s.moved = true
	s.process.log.Info("the agent has moved to the hub that it was handed over to", "server", s.next.Connection.Server)
	return nil
}

// obtainElsewhere gets a credential of the hub that the hand-over names, after it has verified that this is the same hub in another place.
func (s *session) obtainElsewhere(ctx context.Context, known *clusterv1.ManagedCluster,
	hash string,
) (next credential.Credential, err error) {
	secret := &corev1.Secret{}
	if err := s.hub.Get(ctx, client.Secret(s.credential.Cluster, registration.HandOverName), secret); err != nil {
		return next, err //nolint:wrapcheck // the client names the Secret
	}
	to, err := registration.ReadHandOver(secret.Data, hash)
	if err != nil {
		return next, err //nolint:wrapcheck // it names the Secret
	}
	var bootstrap *credential.Connection
	if found := s.process.readBootstrap(); found != nil {
		bootstrap = &found.Connection
	}
	if next, err = s.credential.HandedOver(to.Server, to.CA, bootstrap); err != nil {
		return next, err //nolint:wrapcheck // it names the remedy
	}
	hub, err := gatedClient(next.WithToken(to.Token), client.NewGate(s.process.clock, s.process.random))
	if err != nil {
		return next, err
	}
	defer hub.Close()
	if err := s.requireSameHub(ctx, hub, known); err != nil {
		return next, err
	}
	s.process.log.Info("the hub hands the agent over", "server", to.Server)
	return s.process.obtain(ctx, hub, next, s.process.health.reporter("hand-over"))
}

// renewElsewhere renews the lease on the other hub with the new credential.
func (s *session) renewElsewhere(ctx context.Context, known *clusterv1.ManagedCluster) error {
	hub, err := gatedClient(s.next.Config(), client.NewGate(s.process.clock, s.process.random))
	if err != nil {
		return err
	}
	defer hub.Close()
	if err := s.requireSameHub(ctx, hub, known); err != nil {
		return err
	}
	return lease.Renew(ctx, hub, s.credential.Cluster, s.process.clock) //nolint:wrapcheck // the client names the lease
}

// requireSameHub returns an error unless another hub has the ManagedCluster of this hub, accepts it, and accepts it as this member.
func (s *session) requireSameHub(ctx context.Context, hub *client.Client, known *clusterv1.ManagedCluster) error {
	found := &clusterv1.ManagedCluster{}
	if err := hub.Get(ctx, client.ManagedCluster(known.Name), found); err != nil {
		return err //nolint:wrapcheck // the client names the object
	}
	if want, got := registration.OriginalUID(known), registration.OriginalUID(found); want != got {
		return fmt.Errorf("%w: its ManagedCluster %s has the original UID %q, want %q", errOtherHub, known.Name, got, want)
	}
	return registrationFault(cluster.State{Cluster: found, Access: cluster.Present, UID: s.process.uid})
}

// save stores a credential of this hub, unless the agent has moved to another hub.
func (s *session) save(ctx context.Context, next credential.Credential) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	if s.moved {
		return errMoved
	}
	return s.process.save(ctx, next)
}
