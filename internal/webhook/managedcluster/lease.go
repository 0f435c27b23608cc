package managedcluster

import "fmt"

// warnLeaseSeconds is the longest period of a lease, in seconds, that draws no warning: the cluster is noticed to be silent after
// five periods. maxLeaseSeconds is the longest that counts; the health controller reads longer ones as this.
const warnLeaseSeconds, maxLeaseSeconds = 600, 3600

// leaseWarnings warns of a period of the lease that notices an outage late, where the request sets it. None is refused.
func (c Request) leaseWarnings() []string {
	seconds := c.New.Spec.LeaseDurationSeconds
	if seconds <= warnLeaseSeconds || c.Old != nil && c.Old.Spec.LeaseDurationSeconds == seconds {
		return nil
	}
	warning := fmt.Sprintf("spec.leaseDurationSeconds %d: the cluster is reported silent only after five such periods", seconds)
	if seconds > maxLeaseSeconds {
		warning += fmt.Sprintf("; more than %d counts as %d", maxLeaseSeconds, maxLeaseSeconds)
	}
	return []string{warning}
}
