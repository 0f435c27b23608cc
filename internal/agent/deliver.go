package agent

import (
	"context"
	"time"

	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/cluster"
	"github.com/berth-project/berth/internal/agent/csr"
	"github.com/berth-project/berth/internal/membership/registration"
)

// keepWorks keeps the works of the cluster while the hub has recorded no other member: a copy of a member, or a member that was replaced,
// must not deliver. It begins once the hub has accepted the cluster, and then a denial stops nothing here: the hub withdraws the
// permissions.
func (s *session) keepWorks(ctx context.Context) {
	for {
		changed, state := s.cluster.Changed(), s.cluster.State()
		if state.Access != cluster.Present || !state.Accepted() {
			if backoff.SleepUntil(ctx, s.process.clock, time.Hour, changed) != nil {
				return
			}
			continue
		}
		if err := s.deliver(ctx, registration.OriginalUID(state.Cluster)); err != nil {
			s.process.log.Error("works are not delivered", "error", err)
			return
		}
		if ctx.Err() != nil {
			return
		}
		s.process.log.Warn("works are not delivered any more, because the hub has recorded another member", "cluster", s.credential.Cluster)
	}
}

// deliver keeps the works until the context ends, or the hub has recorded another member.
func (s *session) deliver(ctx context.Context, uid string) error {
	keeper, err := s.works(uid)
	if err != nil {
		return err
	}
	defer keeper.Hub.Close()
	delivering, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer stop()
		s.awaitOtherMember(delivering)
	}()
	s.keeper.Store(keeper)
	defer s.keeper.Store(nil)
	keeper.Run(delivering)
	return nil
}

// awaitOtherMember returns once the hub has recorded another member, or when the context ends.
func (s *session) awaitOtherMember(ctx context.Context) {
	for {
		changed, state := s.cluster.Changed(), s.cluster.State()
		if state.OtherMember() != "" || backoff.SleepUntil(ctx, s.process.clock, time.Hour, changed) != nil {
			return
		}
	}
}

// reportOtherMember reports this member to a hub that has recorded another one, until the context ends. The hub shows both in the condition
// ClusterIdentityConflict.
func (s *session) reportOtherMember(ctx context.Context) {
	announcer := &csr.Announcer{Hub: s.hub, Names: s.credential.Names, UID: s.process.uid, Log: s.process.log}
	for s.awaitOtherMember(ctx); ctx.Err() == nil; s.awaitOtherMember(ctx) {
		if err := announcer.Announce(ctx); err != nil && ctx.Err() == nil {
			s.process.log.Warn("this member was not reported to the hub, which has recorded another one", "retry", lookPause, "error", err)
		}
		_ = backoff.Sleep(ctx, s.process.clock, lookPause) // the loop ends with the context
	}
}
