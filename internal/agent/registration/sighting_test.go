package registration

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
)

// begin is when the tests begin, by the clock of the agent.
func begin() time.Time { return time.Unix(1_800_000_000, 0) }

// renewed returns a Lease with a renewTime; without one where the time is zero.
func renewed(at time.Time) *coordinationv1.Lease {
	out := &coordinationv1.Lease{}
	if !at.IsZero() {
		out.Spec.RenewTime = new(metav1.NewMicroTime(at))
	}
	return out
}

// reading is a reading of the Lease some time after the begin. renewed is renewTime since the begin, by the clock of the member.
type reading struct {
	at, renewed time.Duration
	never       bool
}

func (r reading) lease() *coordinationv1.Lease {
	if r.never {
		return renewed(time.Time{})
	}
	return renewed(begin().Add(r.renewed))
}

// every returns readings each half minute from a time until another, without a renewal.
func every(from, until, renewed time.Duration) []reading {
	var out []reading
	for at := from; at <= until; at += Interval {
		out = append(out, reading{at: at, renewed: renewed})
	}
	return out
}

// late returns readings that are too far apart to be uninterrupted, until a time, without a renewal.
func late(until time.Duration) []reading {
	var out []reading
	for at := time.Duration(0); at <= until; at += maxPause + Interval {
		out = append(out, reading{at: at})
	}
	return out
}

func TestHealthByReadings(t *testing.T) {
	const lives, stopped = metav1.ConditionTrue, metav1.ConditionFalse
	for sentence, test := range map[string]struct {
		available bool
		readings  []reading
		want      metav1.ConditionStatus
	}{
		"a Lease renewed now":                     {false, []reading{{}}, lives},
		"a Lease renewed almost five minutes ago": {false, []reading{{renewed: -5*time.Minute + time.Second}}, lives},
		"a Lease renewed five minutes ago":        {false, []reading{{renewed: -5 * time.Minute}}, stopped},
		"a Lease renewed a year ago":              {false, []reading{{renewed: -365 * 24 * time.Hour}}, stopped},
		"a Lease that was never renewed":          {false, []reading{{never: true}}, stopped},
		"a Lease that was never renewed, twice":   {false, []reading{{never: true}, {at: Interval, never: true}}, stopped},
		"a Lease that loses its renewTime is no sign of life": {
			false,
			append(every(0, 4*time.Minute, 0), reading{at: 4*time.Minute + Interval, never: true}, reading{at: 5 * time.Minute, never: true}),
			stopped,
		},
		"no renewal for almost five minutes": {true, every(0, 5*time.Minute-Interval, 0), lives},
		"no renewal for five minutes":        {true, every(0, 5*time.Minute, 0), stopped},
		"an old Lease that is renewed": {
			false,
			[]reading{{renewed: -time.Hour}, {at: Interval, renewed: Interval}},
			lives,
		},
		"the age at the first sight counts": {false, every(0, time.Minute, -4*time.Minute), stopped},
		"a clock an hour behind, at first":  {false, []reading{{renewed: -time.Hour}}, stopped},
		"a clock an hour behind, after a renewal": {
			false,
			[]reading{{renewed: -time.Hour}, {at: Interval, renewed: -time.Hour + Interval}},
			lives,
		},
		"a clock an hour ahead":                    {false, []reading{{renewed: time.Hour}}, lives},
		"a clock an hour ahead, without a renewal": {true, every(0, 5*time.Minute, time.Hour), stopped},
		"a clock that is set back": {
			true,
			append(every(0, 4*time.Minute, 0), reading{at: 5 * time.Minute, renewed: -time.Hour}), lives,
		},
		"a new agent, and a clock an hour behind":   {true, []reading{{renewed: -time.Hour}}, lives},
		"a new agent, and a Lease without renewals": {true, every(0, 2*time.Minute, -time.Hour), stopped},
		"a new agent gives two minutes":             {true, every(0, 2*time.Minute-Interval, -time.Hour), lives},
		"after an hour without readings":            {true, []reading{{}, {at: time.Hour}}, lives},
		"two minutes after an hour without readings": {
			true, append([]reading{{}}, every(time.Hour, time.Hour+2*time.Minute, 0)...),
			stopped,
		},
		"no renewal, and each reading late":                      {true, late(10 * time.Minute), stopped},
		"an hour without readings, and the hub has it as failed": {false, []reading{{}, {at: time.Hour}}, stopped},
	} {
		t.Run(sentence, func(t *testing.T) {
			seen := sighting{}
			for _, r := range test.readings {
				seen = seen.observe(r.lease(), test.available, begin().Add(r.at))
			}
			got := seen.health(AddOn{Name: "search", Namespace: "add-ons"})
			reason := addonv1alpha1.AvailableReasonLeaseUpdated
			if test.want == stopped {
				reason = addonv1alpha1.AvailableReasonLeaseUpdateStopped
			}
			if got.Status != test.want || got.Reason != reason {
				t.Errorf("health %+v, want %s", got, test.want)
			}
		})
	}
}

// TestAClockOfTheMemberDoesNotMatter plays an hour of renewals each minute, which then end, with clocks of the member that differ by up to
// a day.
func TestAClockOfTheMemberDoesNotMatter(t *testing.T) {
	const life = time.Hour
	for _, skew := range []time.Duration{-24 * time.Hour, -10 * time.Minute, -time.Minute, 0, time.Minute, 10 * time.Minute, 24 * time.Hour} {
		seen, changes, before := sighting{}, 0, metav1.ConditionTrue
		for at := time.Duration(0); at < life+10*time.Minute; at += Interval {
			last := min(at, life).Truncate(leaseDuration)
			seen = seen.observe(renewed(begin().Add(last+skew)), before == metav1.ConditionTrue, begin().Add(at))
			if now := seen.health(AddOn{}).Status; now != before {
				changes, before = changes+1, now
				if at < life+gracePeriod || at > life+gracePeriod+Interval {
					t.Errorf("with a clock off by %s, the health is %s after %s", skew, now, at)
				}
			}
		}
		if changes != 1 {
			t.Errorf("with a clock off by %s, the health changed %d times", skew, changes)
		}
	}
}
