package lease

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/berth-project/berth/internal/agent/client"
)

func TestPeriodIsBoundedAndJittered(t *testing.T) {
	for sentence, test := range map[string]struct {
		seconds int32
		random  float64
		want    time.Duration
	}{
		"the default":            {0, 0, time.Minute},
		"below zero":             {-5, 0, time.Minute},
		"a quarter more at most": {60, 1, 75 * time.Second},
		"a short lease":          {4, 0.5, 4*time.Second + 500*time.Millisecond},
		"too long a lease":       {100000, 0, time.Hour},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := Period(test.seconds, test.random); got != test.want {
				t.Errorf("Period = %s, want %s", got, test.want)
			}
		})
	}
}

func TestARetryIsNoLongerThanTheLease(t *testing.T) {
	for seconds, want := range map[int32]time.Duration{0: time.Minute, 5: 5 * time.Second, 60: time.Minute, 3600: time.Minute} {
		if got := retryLimit(seconds); got != want {
			t.Errorf("retryLimit(%d) = %s, want %s", seconds, got, want)
		}
	}
}

// fakeHub stores one lease. Its errors are returned once each.
type fakeHub struct {
	lease         *coordinationv1.Lease
	reads, writes int
	updateErrors  []error
}

func (h *fakeHub) Get(_ context.Context, _ client.Object, into runtime.Object) error {
	h.reads++
	h.lease.DeepCopyInto(into.(*coordinationv1.Lease))
	return nil
}

func (h *fakeHub) Update(_ context.Context, _ client.Object, body, into runtime.Object) error {
	h.writes++
	if len(h.updateErrors) > 0 {
		err := h.updateErrors[0]
		h.updateErrors = h.updateErrors[1:]
		return err
	}
	h.lease = body.(*coordinationv1.Lease).DeepCopy()
	h.lease.DeepCopyInto(into.(*coordinationv1.Lease))
	return nil
}

func TestRenewChangesTheTimeOnlyAndReadsTheLeaseOnce(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "managed-cluster-lease", errors.New("written"))
	hub := &fakeHub{lease: &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: new("holder")}}}
	clock := testingclock.NewFakeClock(time.Unix(100, 0))
	r := &Renewer{Hub: hub, Clock: clock, Name: "c1", Log: slog.New(slog.DiscardHandler)}
	for range 3 {
		clock.Step(time.Minute)
		if err := r.renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if hub.reads != 1 || hub.writes != 3 || *hub.lease.Spec.HolderIdentity != "holder" || !hub.lease.Spec.RenewTime.Time.Equal(clock.Now()) {
		t.Errorf("%d reads, %d writes, lease %+v", hub.reads, hub.writes, hub.lease.Spec)
	}
	hub.updateErrors = []error{conflict}
	if err := r.renew(t.Context()); err != nil || hub.reads != 2 {
		t.Errorf("after a conflict: %v, %d reads, want 2", err, hub.reads)
	}
	hub.updateErrors = []error{conflict, conflict}
	if err := r.renew(t.Context()); !apierrors.IsConflict(err) || hub.writes != 7 {
		t.Errorf("after two conflicts: %v, %d writes, want 7", err, hub.writes)
	}
}

// TestALeaseHasWhenWorksWereVerified renews a lease while the time is known, and while it is not.
func TestALeaseHasWhenWorksWereVerified(t *testing.T) {
	hub, verified := &fakeHub{lease: &coordinationv1.Lease{}}, time.Unix(90, 0)
	r := &Renewer{
		Hub: hub, Clock: testingclock.NewFakeClock(time.Unix(100, 0)), Name: "c1", Log: slog.New(slog.DiscardHandler),
		Verified: func() time.Time { return verified },
	}
	for _, known := range []time.Time{verified, {}} {
		verified = known
		if err := r.renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := hub.lease.Spec.AcquireTime; got == nil || !got.Time.Equal(time.Unix(90, 0)) {
			t.Errorf("the lease has %v", got)
		}
	}
}

// TestAHubThatReturnsToOlderDataIsReported renews a lease on a hub that is replaced by an older copy of itself.
func TestAHubThatReturnsToOlderDataIsReported(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "managed-cluster-lease", errors.New("written"))
	for sentence, test := range map[string]struct {
		versions []string
		want     int
	}{
		"versions grow":                      {[]string{"9", "10", "11"}, 0},
		"the hub stored nothing":             {[]string{"9", "9", "9"}, 0},
		"the hub returns to older data":      {[]string{"1000", "999", "1001"}, 1},
		"the hub returns twice":              {[]string{"1000", "999", "900"}, 2},
		"versions that are not comparable":   {[]string{"b", "a", "a"}, 0},
		"more digits are a later version":    {[]string{"99", "100", "101"}, 0},
		"the next hub is ahead after a read": {[]string{"100", "101", "5000"}, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			restored, hub := 0, &fakeHub{}
			r := &Renewer{
				Hub: hub, Clock: testingclock.NewFakeClock(time.Unix(100, 0)), Name: "c1", Log: slog.New(slog.DiscardHandler),
				Restored: func() { restored++ },
			}
			for _, version := range test.versions {
				hub.lease, hub.updateErrors = &coordinationv1.Lease{}, []error{conflict}
				hub.lease.ResourceVersion = version
				if r.stored == nil {
					hub.updateErrors = nil
				}
				if err := r.renew(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if restored != test.want {
				t.Errorf("%d restores were reported, want %d", restored, test.want)
			}
		})
	}
}
