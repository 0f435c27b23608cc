package election

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/agent/client"
)

var errBoom = errors.New("boom")

// memory stores one lease, as an API server does.
type memory struct {
	mu      sync.Mutex
	lease   *coordinationv1.Lease
	version int
}

// from is the memory as one agent reaches it.
type from struct {
	*memory

	cut *bool
}

func (f from) reach() error {
	if *f.cut {
		return errBoom
	}
	return nil
}

func (f from) Get(_ context.Context, _ client.Object, into runtime.Object) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lease == nil {
		return errors.Join(f.reach(), apierrors.NewNotFound(schema.GroupResource{}, Name))
	}
	f.lease.DeepCopyInto(into.(*coordinationv1.Lease))
	return f.reach()
}

func (f from) Create(ctx context.Context, object client.Object, body, into runtime.Object) error {
	return f.Update(ctx, object, body, into)
}

func (f from) Update(_ context.Context, _ client.Object, body, into runtime.Object) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := body.(*coordinationv1.Lease).DeepCopy()
	if f.lease != nil && f.lease.ResourceVersion != next.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{}, Name, errBoom)
	}
	if err := f.reach(); err != nil {
		return err
	}
	f.version++
	next.ResourceVersion = string(rune('a' + f.version%26))
	f.lease = next
	next.DeepCopyInto(into.(*coordinationv1.Lease))
	return nil
}

// agents is how many agents work, and a test in which no two may.
type agents struct {
	t       *testing.T
	leases  memory
	mu      sync.Mutex
	working []string
}

func (a *agents) lead(identity string) func(context.Context) {
	return func(ctx context.Context) {
		a.mu.Lock()
		if a.working = append(a.working, identity); len(a.working) > 1 {
			a.t.Errorf("%v work at once", a.working)
		}
		a.mu.Unlock()
		<-ctx.Done()
		a.mu.Lock()
		a.working = a.working[1:]
		a.mu.Unlock()
	}
}

// start starts an agent. stop ends it as SIGTERM does; cut keeps it from the member.
func (a *agents) start(identity string) (stop func(), cut *bool) {
	ctx, cancel := context.WithCancel(a.t.Context())
	cut = new(bool)
	elector := &Elector{
		Leases: from{&a.leases, cut}, Namespace: "n", Identity: identity, Clock: clock.RealClock{}, Report: func(error) {},
		Log: slog.New(slog.DiscardHandler),
	}
	ended := make(chan struct{})
	go func() { defer close(ended); elector.Run(ctx, a.lead(identity)) }()
	return func() { cancel(); <-ended }, cut
}

// expect checks which agent works after a time; empty for none.
func (a *agents) expect(after time.Duration, want string) {
	a.t.Helper()
	time.Sleep(after)
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	got := ""
	if len(a.working) > 0 {
		got = a.working[0]
	}
	if got != want {
		a.t.Errorf("after %s %q works, want %q", after, got, want)
	}
}

func TestOneAgentWorksAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agents{t: t}
		stopFirst, _ := a.start("first")
		a.expect(time.Second, "first")
		stopSecond, _ := a.start("second")
		a.expect(10*time.Minute, "first")
		stopFirst()
		a.expect(retryInterval, "second")
		stopSecond()
		a.expect(0, "")
	})
}

func TestAnAgentThatLosesTheMemberStopsBeforeAnotherBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agents{t: t}
		stopFirst, cut := a.start("first")
		a.expect(time.Second, "first")
		stopSecond, _ := a.start("second")
		a.expect(time.Second, "first")
		*cut = true
		a.expect(duration-2*retryInterval, "")
		a.expect(renewInterval+3*retryInterval, "second")
		*cut = false
		a.expect(10*time.Minute, "second")
		stopSecond()
		a.expect(retryInterval, "first")
		stopFirst()
	})
}

// abandoned returns agents after the first was killed with the lease.
func abandoned(t *testing.T) *agents {
	t.Helper()
	holder := "first"
	a := &agents{t: t}
	a.leases.lease = &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
	return a
}

// TestAnAgentThatIsKilledGoesOnAtOnce leaves a lease behind, as kill -9 does.
func TestAnAgentThatIsKilledGoesOnAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := abandoned(t)
		stopSecond, _ := a.start("second")
		a.expect(duration/2, "")
		stopFirst, _ := a.start("first")
		a.expect(time.Second, "first")
		stopFirst()
		stopSecond()
	})
}

func TestALeaseThatItsHolderLeftIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := abandoned(t)
		stop, _ := a.start("second")
		a.expect(duration-time.Second, "")
		a.expect(2*retryInterval, "second")
		if got := a.leases.lease.Spec.LeaseTransitions; got == nil || *got != 1 {
			t.Errorf("the lease has %v transitions", got)
		}
		stop()
	})
}

// TestAMemberThatReturnedToOlderDataIsReported replaces the lease of an agent that works.
func TestAMemberThatReturnedToOlderDataIsReported(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(now, first *coordinationv1.Lease) *coordinationv1.Lease
		want   int
	}{
		"by a lease from before its last renewal": {func(_, first *coordinationv1.Lease) *coordinationv1.Lease { return first }, 1},
		"by another lease": {func(now, _ *coordinationv1.Lease) *coordinationv1.Lease {
			now.UID = "other"
			return now
		}, 1},
		"by a lease that a user has changed": {func(now, _ *coordinationv1.Lease) *coordinationv1.Lease {
			now.Labels = map[string]string{"a": "b"}
			return now
		}, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, restored := &agents{t: t}, 0
				elector := &Elector{
					Leases: from{&a.leases, new(bool)}, Namespace: "n", Identity: "first", Clock: clock.RealClock{}, Report: func(error) {},
					Restored: func() { restored++ }, Log: slog.New(slog.DiscardHandler),
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() { defer close(ended); elector.Run(ctx, a.lead("first")) }()
				a.expect(time.Second, "first")
				first := a.leases.lease.DeepCopy()
				a.expect(3*renewInterval, "first")
				next := test.change(a.leases.lease.DeepCopy(), first)
				next.ResourceVersion = "restored"
				a.leases.lease = next
				a.expect(2*renewInterval, "first")
				stop()
				<-ended
				if restored != test.want {
					t.Errorf("%d returns to older data were reported, want %d", restored, test.want)
				}
			})
		})
	}
}
