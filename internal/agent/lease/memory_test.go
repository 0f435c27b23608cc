package lease

import (
	"log/slog"
	"strconv"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	testingclock "k8s.io/utils/clock/testing"
)

// TestAnAgentThatStartsAgainNoticesOlderData ends an agent after a write of its lease on the member, and starts another one.
func TestAnAgentThatStartsAgainNoticesOlderData(t *testing.T) {
	for sentence, test := range map[string]struct {
		server, cluster string
		change          func(hub, member *server, first *coordinationv1.Lease)
		want            int
	}{
		"nothing happens":              {"https://hub", "c1", func(_, _ *server, _ *coordinationv1.Lease) {}, 0},
		"the hub returns to a renewal": {"https://hub", "c1", func(hub, _ *server, first *coordinationv1.Lease) { hub.restored(first) }, 1},
		"another lease has the name":   {"https://hub", "c1", func(hub, _ *server, _ *coordinationv1.Lease) { hub.lease.UID = "u2" }, 1},
		"another hub counts less":      {"https://other", "c1", func(hub, _ *server, first *coordinationv1.Lease) { hub.restored(first) }, 0},
		"the annotation is not from an agent": {"https://hub", "c1", func(hub, member *server, first *coordinationv1.Lease) {
			hub.restored(first)
			for key := range member.lease.Annotations {
				member.lease.Annotations[key] += "0000000000"
			}
		}, 0},
		"another cluster has another lease": {"https://hub", "c2", func(hub, _ *server, _ *coordinationv1.Lease) { hub.lease.UID = "u2" }, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			hub, member, restored, clock := newServer(), newServer(), 0, testingclock.NewFakeClock(time.Unix(100, 0))
			start := func(server, cluster string) (*Member, *Renewer) {
				memory := &Memory{}
				m := &Member{
					Leases: member, Clock: clock, Restored: func() { t.Error("the member has no older data") }, Memory: memory,
					Log: slog.New(slog.DiscardHandler),
				}
				m.Recall(t.Context())
				return m, &Renewer{
					Hub: hub, Clock: clock, Name: "c1", Log: slog.New(slog.DiscardHandler), Restored: func() { restored++ },
					Counter: memory.Of(server, cluster),
				}
			}
			m, r := start("https://hub", "c1")
			var first *coordinationv1.Lease
			for range 3 {
				if err := r.renew(t.Context()); err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = hub.lease.DeepCopy()
				}
				if err := m.write(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			test.change(hub, member, first)
			_, r = start(test.server, test.cluster)
			if err := r.renew(t.Context()); err != nil {
				t.Fatal(err)
			}
			if restored != test.want {
				t.Errorf("%d returns to older data were reported, want %d", restored, test.want)
			}
		})
	}
}

// TestKeptCountsAreBounded keeps the count of one lease among those of other agents.
func TestKeptCountsAreBounded(t *testing.T) {
	for sentence, test := range map[string]struct{ others, want int }{
		"there are few": {maxKept - 1, maxKept}, "there are too many": {maxKept, 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			next := &coordinationv1.Lease{}
			next.Annotations = map[string]string{"note": "stays"}
			for i := range test.others {
				next.Annotations[hubRenewalsPrefix+strconv.Itoa(i)] = "u/1"
			}
			memory := &Memory{}
			memory.Of("https://hub", "c1").Record(newServer().lease)
			for range 2 {
				memory.Keep(next)
			}
			if got := len(next.Annotations) - 1; got != test.want || next.Annotations["note"] != "stays" {
				t.Errorf("%d counts are kept, want %d: %v", got, test.want, next.Annotations)
			}
		})
	}
}

// TestAnAgentThatWaitedReadsWhatTheOtherKeptLast reads the lease twice before it uses a lease on a hub, and once after.
func TestAnAgentThatWaitedReadsWhatTheOtherKeptLast(t *testing.T) {
	other, memory := &Memory{}, &Memory{}
	counter, kept, hub := other.Of("https://hub", "c1"), &coordinationv1.Lease{}, newServer().lease
	for range 2 {
		raise(hub)
		counter.Record(hub)
		other.Keep(kept)
		memory.Recall(kept)
	}
	mine := memory.Of("https://hub", "c1")
	memory.Recall(&coordinationv1.Lease{})
	older := hub.DeepCopy()
	older.Spec.LeaseTransitions = new(int32(1))
	if !mine.Older(older) || mine.Older(hub) {
		t.Error("the agent has another count than the other agent kept last")
	}
}
