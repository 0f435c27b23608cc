package registration

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
)

const (
	// leaseDuration is the time in which an add-on renews its Lease, and gracePeriod the silence after which it has stopped. The Lease itself
	// does not choose them.
	leaseDuration = time.Minute
	gracePeriod   = 5 * leaseDuration
	// returnTime is how long an add-on that was available has to renew its Lease after an interruption of the readings. maxPause is the
	// longest time between two readings that is no interruption.
	returnTime = 2 * leaseDuration
	maxPause   = 2 * Interval
)

// sighting is what the agent has seen of one Lease. Its zero value is a Lease that was never seen.
//
// The age of a Lease counts from when the agent saw its renewTime change, by the clock of the agent alone. So it does not matter where two
// clocks differ. At the first sight there is no change, so there alone renewTime is compared with the clock of the agent. A wrong clock of
// the member then costs one grace period at most. With the clock ahead, an add-on that has stopped is available for so long. With the clock
// behind, an add-on that lives is available once it renews its Lease.
type sighting struct {
	// renewed is renewTime as the member has it; zero where the Lease was never renewed.
	renewed time.Time
	// since is the last sign of life, and read the last reading, both by the clock of the agent. spared is the interruption after which the
	// add-on got time to renew its Lease; zero before the first, and after each renewal.
	since, read, spared time.Time
}

// observe returns the sighting after a reading. available is whether the hub has the add-on as available.
func (s sighting) observe(lease *coordinationv1.Lease, available bool, now time.Time) sighting {
	out := sighting{since: s.since, read: now, spared: s.spared}
	if lease.Spec.RenewTime != nil {
		out.renewed = lease.Spec.RenewTime.Time
	}
	first := s.read.IsZero()
	switch {
	case first:
		out.since = now.Add(-min(max(now.Sub(out.renewed), 0), gracePeriod))
	case !out.renewed.IsZero() && !out.renewed.Equal(s.renewed):
		out.since, out.spared = now, time.Time{}
	}
	// The silence of a time without readings is not that of the add-on: the agent or the API server of the member was away. Readings that are
	// always interrupted spare it once.
	if available && out.spared.IsZero() && (first || now.Sub(s.read) > maxPause) {
		if earliest := now.Add(returnTime - gracePeriod); out.since.Before(earliest) {
			out.since, out.spared = earliest, now
		}
	}
	return out
}

// health returns the health of an add-on after a reading.
func (s sighting) health(of AddOn) Health {
	switch {
	case s.read.Sub(s.since) < gracePeriod:
		return Health{
			metav1.ConditionTrue, addonv1alpha1.AvailableReasonLeaseUpdated,
			"The add-on renews its Lease " + of.lease() + " on the member.",
		}
	case s.renewed.IsZero():
		return Health{
			metav1.ConditionFalse, addonv1alpha1.AvailableReasonLeaseUpdateStopped,
			"The Lease " + of.lease() + " on the member has no renewTime: the add-on does not renew it.",
		}
	default:
		return Health{
			metav1.ConditionFalse, addonv1alpha1.AvailableReasonLeaseUpdateStopped,
			"The add-on has not renewed its Lease " + of.lease() + " on the member for five minutes.",
		}
	}
}

// withoutLease returns the health of an add-on whose Lease the member does not have.
func withoutLease(of AddOn) Health {
	return Health{
		metav1.ConditionUnknown, addonv1alpha1.AvailableReasonLeaseNotFound,
		"The member has no Lease " + of.lease() + ", so it is not known whether the add-on works.",
	}
}
