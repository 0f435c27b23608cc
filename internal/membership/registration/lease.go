package registration

import (
	"time"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

const (
	// gracePeriods is how many periods of its lease a cluster may be silent before it is reported Unknown.
	gracePeriods = 5
	// defaultLeasePeriod is the lease period of a cluster without one. A period above maxLeasePeriod counts as maxLeasePeriod, so that
	// every outage is reported within five hours, and no duration overflows.
	defaultLeasePeriod = time.Minute
	maxLeasePeriod     = time.Hour
)

// GracePeriod returns how long the agent of a cluster may be silent.
func GracePeriod(cluster *clusterv1.ManagedCluster) time.Duration {
	period := defaultLeasePeriod
	if seconds := cluster.Spec.LeaseDurationSeconds; seconds > 0 {
		period = min(time.Duration(seconds)*time.Second, maxLeasePeriod)
	}
	return gracePeriods * period
}
