package managedcluster

import "fmt"

// warnLeaseSeconds is the longest lease period, in seconds, without a warning: a cluster counts as unhealthy after five missed
// periods. The health controller reads periods longer than maxLeaseSeconds as maxLeaseSeconds.
const warnLeaseSeconds, maxLeaseSeconds = 600, 3600

// leaseWarnings warns of a long lease period that the request sets. No period is rejected.
func (r Request) leaseWarnings() []string {
	seconds := r.New.Spec.LeaseDurationSeconds
	if seconds <= warnLeaseSeconds || r.Old != nil && r.Old.Spec.LeaseDurationSeconds == seconds {
		return nil
	}
	warning := fmt.Sprintf("spec.leaseDurationSeconds %d: an outage of the cluster is detected only after five such periods", seconds)
	if seconds > maxLeaseSeconds {
		warning += fmt.Sprintf("; more than %d counts as %d", maxLeaseSeconds, maxLeaseSeconds)
	}
	return []string{warning}
}
