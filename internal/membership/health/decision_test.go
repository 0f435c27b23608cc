package health

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// inputOf returns the decision input for a cluster at noon. The controller started an hour before. renewed is how long before noon a
// renewal of the lease was observed; empty without a lease.
func inputOf(b builder, renewed ...time.Duration) decisionInput {
	e := &entry{}
	newHealthCache(55, false).set(e, b.Obj(), noon)
	for _, before := range renewed {
		e.leased, e.lastSeen = true, noon.Add(-before)
	}
	return decisionInput{clusterHealth: e.clusterHealth, mode: modeReported, cluster: b.Obj(), silenceFrom: noon.Add(-time.Hour), now: noon}
}

func (d decisionInput) silentFrom(before time.Duration) decisionInput {
	d.silenceFrom = noon.Add(-before)
	return d
}

func (d decisionInput) underDisruption() decisionInput {
	d.suspended = true
	return d
}

func (d decisionInput) withUnjoined() decisionInput {
	d.mode = modeAll
	return d
}

func TestDecide(t *testing.T) {
	const never = time.Duration(0)
	silentFor := testGrace + time.Second
	slow := healthyCluster("c")
	slow.Spec.LeaseDurationSeconds = 0
	odd := healthyCluster("c")
	odd.Spec.LeaseDurationSeconds = -1
	long, longest := healthyCluster("c"), healthyCluster("c")
	long.Spec.LeaseDurationSeconds, longest.Spec.LeaseDurationSeconds = 3600, math.MaxInt32
	type outcome struct {
		Lease, Declare bool
		Taints         string
		// LookAgain is the delay after noon.
		LookAgain time.Duration
	}
	for sentence, test := range map[string]struct {
		s    decisionInput
		want outcome
	}{
		"the cluster was never reported": {inputOf(cluster("c"), silentFor), outcome{}},
		"the cluster was never reported, with the flag": {
			inputOf(cluster("c"), silentFor).withUnjoined(),
			outcome{Taints: "unreachable since 0s"},
		},
		"an accepted cluster gets a lease": {
			inputOf(cluster("c").condition(accepted, "True")).withUnjoined(),
			outcome{Lease: true, Taints: "unreachable since 0s"},
		},
		"a denied cluster gets a lease": {
			inputOf(healthyCluster("c").condition(accepted, "False")),
			outcome{Lease: true},
		},
		"a healthy cluster": {inputOf(healthyCluster("c"), 0), outcome{LookAgain: testGrace}},
		"the next decision is due when the grace period ends": {
			inputOf(healthyCluster("c"), testGrace-time.Nanosecond),
			outcome{LookAgain: time.Nanosecond},
		},
		"the grace period is over": {
			inputOf(healthyCluster("c"), testGrace),
			outcome{Declare: true, Taints: "unreachable since 0s"},
		},
		"a lease without a period has a period of a minute": {inputOf(slow, time.Minute), outcome{LookAgain: 4 * time.Minute}},
		"a lease with an invalid period has a period of a minute": {
			inputOf(odd, 5*time.Minute),
			outcome{Declare: true, Taints: "unreachable since 0s"},
		},
		"a period of an hour counts as it is": {inputOf(long, time.Minute), outcome{LookAgain: 5*time.Hour - time.Minute}},
		"a longer period counts as an hour":   {inputOf(longest, time.Minute), outcome{LookAgain: 5*time.Hour - time.Minute}},
		"an Unknown cluster is not reported again": {
			inputOf(cluster("c").condition(accepted, "True").condition(available, "Unknown").tainted(since(unreachable, time.Minute)), silentFor),
			outcome{},
		},
		"an Unknown cluster without the taint gets it": {
			inputOf(cluster("c").condition(accepted, "True").condition(available, "Unknown"), silentFor), outcome{Taints: "unreachable since 0s"},
		},
		"a cluster without a report becomes Unknown": {
			inputOf(cluster("c").condition(accepted, "True").tainted(since(unreachable, time.Minute)), silentFor), outcome{Declare: true},
		},
		"an unhealthy cluster is silent": {
			inputOf(cluster("c").condition(accepted, "True").condition(available, "False").tainted(since(unavailable, time.Hour)), silentFor),
			outcome{Declare: true, Taints: "unreachable since 1h0m0s"},
		},
		"an unreachable cluster reports that it is unhealthy": {
			inputOf(cluster("c").condition(accepted, "True").condition(available, "False").tainted(since(unreachable, time.Hour)), 0),
			outcome{Taints: "unavailable since 1h0m0s", LookAgain: testGrace},
		},
		"an unreachable cluster renews its lease": {
			inputOf(healthyCluster("c").tainted(since(unreachable, time.Hour)), 0),
			outcome{Taints: "none", LookAgain: testGrace},
		},
		"an unwatched cluster is tainted by its report": {
			inputOf(cluster("c").condition(available, "Unknown"), silentFor),
			outcome{Taints: "unreachable since 0s"},
		},
		"an unwatched cluster is not reported Unknown": {inputOf(cluster("c").condition(available, "True"), silentFor), outcome{}},
		"a joined cluster without a report is unreachable": {
			inputOf(cluster("c").condition(joined, "True")),
			outcome{Taints: "unreachable since 0s"},
		},

		"silence before the start does not count": {
			inputOf(healthyCluster("c"), time.Hour).silentFrom(time.Second),
			outcome{LookAgain: testGrace - time.Second},
		},
		"silence after the start counts": {
			inputOf(healthyCluster("c"), time.Hour).silentFrom(testGrace),
			outcome{Declare: true, Taints: "unreachable since 0s"},
		},

		"a cluster that is being deleted is not tainted": {inputOf(healthyCluster("c").terminating(), silentFor), outcome{Declare: true}},
		"being deleted, its lease is gone":               {inputOf(healthyCluster("c").terminating()), outcome{Declare: true}},
		"being deleted, Unknown before": {inputOf(
			cluster("c").condition(accepted, "True").condition(available, "Unknown").terminating()), outcome{}},
		"being deleted, with a taint, which stays": {
			inputOf(healthyCluster("c").tainted(since(unavailable, time.Hour)).terminating(), 0),
			outcome{LookAgain: testGrace},
		},
		"being deleted, never watched":                {inputOf(cluster("c").condition(available, "True").terminating()), outcome{}},
		"being deleted, suspended":                    {inputOf(healthyCluster("c").terminating(), silentFor).underDisruption(), outcome{}},
		"being deleted, suspended, its lease is gone": {inputOf(healthyCluster("c").terminating()).underDisruption(), outcome{Declare: true}},

		"suspended: a silent cluster": {inputOf(healthyCluster("c"), silentFor).underDisruption(), outcome{}},
		"suspended: an Unknown cluster": {inputOf(cluster("c").condition(accepted, "True").condition(available, "Unknown"),
			silentFor).underDisruption(), outcome{}},
		"suspended: an unhealthy cluster": {inputOf(cluster("c").condition(accepted, "True").condition(available, "False"),
			0).underDisruption(), outcome{LookAgain: testGrace}},
		"suspended: no taint is replaced": {
			inputOf(
				cluster("c").condition(accepted, "True").condition(available, "False").tainted(since(unreachable, time.Hour)), 0).underDisruption(),
			outcome{LookAgain: testGrace},
		},
		"suspended: an unreachable cluster renews its lease": {inputOf(healthyCluster("c").tainted(since(unreachable, time.Hour)),
			0).underDisruption(), outcome{Taints: "none", LookAgain: testGrace}},
		"suspended: a new cluster gets a lease": {
			inputOf(cluster("c").condition(accepted, "True")).underDisruption(),
			outcome{Lease: true},
		},
		"suspended: a cluster that was never reported": {inputOf(cluster("c")).withUnjoined().underDisruption(), outcome{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			before := taintText(test.s.cluster.Spec.Taints)
			d := decide(test.s)
			got := outcome{Lease: d.createLease, Declare: d.reportUnknown, LookAgain: never}
			if !d.taints.empty() {
				got.Taints = taintText(d.taints.taints)
			}
			if !d.lookAgain.IsZero() {
				got.LookAgain = d.lookAgain.Sub(noon)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
			if after := taintText(test.s.cluster.Spec.Taints); after != before {
				t.Errorf("the cluster was changed: %s, before %s", after, before)
			}
		})
	}
}
