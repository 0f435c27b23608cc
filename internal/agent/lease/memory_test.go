package lease

import (
	"log/slog"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	testingclock "k8s.io/utils/clock/testing"
)

// TestAnAgentThatStartsAgainNoticesOlderData ends an agent after a write of its lease on the member, and starts another one.
func TestAnAgentThatStartsAgainNoticesOlderData(t *testing.T) {
	for sentence, test := range map[string]struct {
		server string
		change func(hub, member *server, first *coordinationv1.Lease)
		want   int
	}{
		"nothing happens":              {"https://hub", func(_, _ *server, _ *coordinationv1.Lease) {}, 0},
		"the hub returns to a renewal": {"https://hub", func(hub, _ *server, first *coordinationv1.Lease) { hub.restored(first) }, 1},
		"another lease has the name":   {"https://hub", func(hub, _ *server, _ *coordinationv1.Lease) { hub.lease.UID = "u2" }, 1},
		"another hub counts less":      {"https://other", func(hub, _ *server, first *coordinationv1.Lease) { hub.restored(first) }, 0},
		"the annotation is not from an agent": {"https://hub", func(hub, member *server, first *coordinationv1.Lease) {
			hub.restored(first)
			member.lease.Annotations[hubRenewalsAnnotation] += "0000000000"
		}, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			hub, member, restored, clock := newServer(), newServer(), 0, testingclock.NewFakeClock(time.Unix(100, 0))
			start := func(server string) (*Member, *Renewer) {
				memory := &Memory{}
				m := &Member{
					Leases: member, Clock: clock, Restored: func() { t.Error("the member has no older data") }, Memory: memory,
					Log: slog.New(slog.DiscardHandler),
				}
				m.Recall(t.Context())
				return m, &Renewer{
					Hub: hub, Clock: clock, Name: "c1", Log: slog.New(slog.DiscardHandler), Restored: func() { restored++ },
					Counter: memory.Of(server),
				}
			}
			m, r := start("https://hub")
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
			_, r = start(test.server)
			if err := r.renew(t.Context()); err != nil {
				t.Fatal(err)
			}
			if restored != test.want {
				t.Errorf("%d returns to older data were reported, want %d", restored, test.want)
			}
		})
	}
}
