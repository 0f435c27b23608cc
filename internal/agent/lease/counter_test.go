package lease

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/berth-project/berth/internal/agent/client"
)

// server stores one lease with a version that only grows, also over a restore, as an API server does after a restore that raises it.
type server struct {
	lease   *coordinationv1.Lease
	refuses error
	// made counts the leases that were created.
	made int
}

func (s *server) Get(_ context.Context, _ client.Object, into runtime.Object) error {
	if s.lease == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, "lease")
	}
	s.lease.DeepCopyInto(into.(*coordinationv1.Lease))
	return s.refuses
}

func (s *server) Create(_ context.Context, _ client.Object, body, into runtime.Object) error {
	s.lease = body.(*coordinationv1.Lease).DeepCopy()
	s.made++
	s.lease.UID, s.lease.ResourceVersion = "u1", "1"
	s.lease.DeepCopyInto(into.(*coordinationv1.Lease))
	return s.refuses
}

func (s *server) Update(_ context.Context, _ client.Object, body, into runtime.Object) error {
	next := body.(*coordinationv1.Lease).DeepCopy()
	if s.lease == nil || next.ResourceVersion != s.lease.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{}, "lease", errors.New("written"))
	}
	next.ResourceVersion += "1"
	s.lease = next
	next.DeepCopyInto(into.(*coordinationv1.Lease))
	return s.refuses
}

// restored replaces the lease by an older copy with a higher version.
func (s *server) restored(older *coordinationv1.Lease) {
	version := s.lease.ResourceVersion + "9"
	s.lease = older.DeepCopy()
	s.lease.ResourceVersion = version
}

func newServer() *server {
	out := &server{lease: &coordinationv1.Lease{}}
	out.lease.UID, out.lease.ResourceVersion = "u1", "1"
	return out
}

// TestOlderDataIsNoticedWhateverTheVersions changes the lease between renewals. Each change raises the version.
func TestOlderDataIsNoticedWhateverTheVersions(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(hub *server, first *coordinationv1.Lease)
		want   int
	}{
		"nothing happens":              {func(*server, *coordinationv1.Lease) {}, 0},
		"the hub returns to a renewal": {func(hub *server, first *coordinationv1.Lease) { hub.restored(first) }, 1},
		"another lease has the name": {func(hub *server, _ *coordinationv1.Lease) {
			other := hub.lease.DeepCopy()
			other.UID = "u2"
			hub.restored(other)
		}, 1},
		"another agent renews the lease": {func(hub *server, _ *coordinationv1.Lease) {
			next := hub.lease.DeepCopy()
			raise(next)
			hub.restored(next)
		}, 0},
		"a user labels the lease": {func(hub *server, _ *coordinationv1.Lease) { hub.restored(hub.lease) }, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			hub, restored := newServer(), 0
			counter := &Counter{}
			renewer := func() *Renewer { // each session has another one
				return &Renewer{
					Hub: hub, Clock: testingclock.NewFakeClock(time.Unix(100, 0)), Name: "c1", Log: slog.New(slog.DiscardHandler),
					Restored: func() { restored++ }, Counter: counter,
				}
			}
			r := renewer()
			renew := func() {
				t.Helper()
				if err := r.renew(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			renew()
			first := hub.lease.DeepCopy()
			renew()
			r = renewer()
			renew()
			if err := r.Confirm(t.Context()); err != nil {
				t.Errorf("the hub has the data of the last renewal: %v", err)
			}
			test.change(hub, first)
			if err := r.Confirm(t.Context()); (err != nil) != (test.want > 0) {
				t.Errorf("Confirm = %v", err)
			}
			renew()
			renew()
			if restored != test.want {
				t.Errorf("%d returns to older data were reported, want %d", restored, test.want)
			}
		})
	}
}

// TestAMemberThatReturnsToOlderDataIsNoticed lets an agent write its lease on the member, and replaces the lease by an older one.
func TestAMemberThatReturnsToOlderDataIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		member, restored := &server{}, 0
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		m := &Member{Leases: member, Clock: clock.RealClock{}, Restored: func() { restored++ }, Log: slog.New(slog.DiscardHandler)}
		go m.Run(ctx)
		wait := func(passed time.Duration, want int) {
			t.Helper()
			synctest.Wait()
			after(passed)
			synctest.Wait()
			if restored != want {
				t.Errorf("%d returns to older data were reported, want %d", restored, want)
			}
		}
		wait(memberInterval/2, 0)
		first := member.lease.DeepCopy()
		wait(5*memberInterval, 0)
		if member.made != 1 || countOf(member.lease) != 6 {
			t.Errorf("%d leases were made, and the count is %d, want one and 6", member.made, countOf(member.lease))
		}
		member.restored(first)
		wait(2*memberInterval, 1)
		member.lease.UID = "u2"
		wait(2*memberInterval, 2)

		t.Log("a member that refuses the lease is left alone")
		member.refuses = apierrors.NewForbidden(schema.GroupResource{}, "lease", errors.New("refused"))
		wait(30*memberInterval, 2)
		count := countOf(member.lease)
		wait(20*memberInterval, 2)
		if got := countOf(member.lease); got != count {
			t.Errorf("the count is %d, and was %d", got, count)
		}
	})
}

// after returns once a time has passed, by the clock of the test.
func after(d time.Duration) { <-time.After(d) }
