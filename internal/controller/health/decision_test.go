package health

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// inputOf returns the situation of a cluster at noon, on a loop that began an hour before. The lease, if there is one, was seen
// renewed so long before noon.
func inputOf(b builder, renewed ...time.Duration) decisionInput {
	e := &entry{}
	newHealthCache(55, false).set(e, b.Obj(), noon)
	for _, before := range renewed {
		e.leased, e.lastSeen = true, noon.Add(-before)
	}
	return decisionInput{clusterHealth: e.clusterHealth, mode: modeReported, cluster: b.Obj(), silenceFrom: noon.Add(-time.Hour), now: noon}
}

func (s decisionInput) silentFrom(before time.Duration) decisionInput {
	s.silenceFrom = noon.Add(-before)
	return s
}

func (s decisionInput) underDisruption() decisionInput {
	s.suspended = true
	return s
}

func (s decisionInput) withUnjoined() decisionInput {
	s.mode = modeAll
	return s
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
		// LookAgain is how long after noon.
		LookAgain time.Duration
	}
	for sentence, test := range map[string]struct {
		s    decisionInput
		want outcome
	}{
		"the cluster was never reported":                     {inputOf(cluster("c"), silentFor), outcome{}},
		"the same, with the flag":                            {inputOf(cluster("c"), silentFor).withUnjoined(), outcome{Taints: "unreachable since 0s"}},
		"it was accepted, and gets a lease":                  {inputOf(cluster("c").condition(accepted, "True")).withUnjoined(), outcome{Lease: true, Taints: "unreachable since 0s"}},
		"it was denied, and gets one too":                    {inputOf(healthyCluster("c").condition(accepted, "False")), outcome{Lease: true}},
		"it has joined, and is healthy":                      {inputOf(healthyCluster("c"), 0), outcome{LookAgain: testGrace}},
		"it is looked at again right when its grace is over": {inputOf(healthyCluster("c"), testGrace-time.Nanosecond), outcome{LookAgain: time.Nanosecond}},
		"its grace is over":                                  {inputOf(healthyCluster("c"), testGrace), outcome{Declare: true, Taints: "unreachable since 0s"}},
		"a lease without period has one of a minute":         {inputOf(slow, time.Minute), outcome{LookAgain: 4 * time.Minute}},
		"so has one of a period that is none":                {inputOf(odd, 5*time.Minute), outcome{Declare: true, Taints: "unreachable since 0s"}},
		"a lease of an hour counts as it is":                 {inputOf(long, time.Minute), outcome{LookAgain: 5*time.Hour - time.Minute}},
		"a longer one counts as one of an hour":              {inputOf(longest, time.Minute), outcome{LookAgain: 5*time.Hour - time.Minute}},
		"an Unknown cluster is not reported again":           {inputOf(cluster("c").condition(accepted, "True").condition(available, "Unknown").tainted(since(unreachable, time.Minute)), silentFor), outcome{}},
		"one that was declared without its taint gets it":    {inputOf(cluster("c").condition(accepted, "True").condition(available, "Unknown"), silentFor), outcome{Taints: "unreachable since 0s"}},
		"a cluster without a report becomes Unknown":         {inputOf(cluster("c").condition(accepted, "True").tainted(since(unreachable, time.Minute)), silentFor), outcome{Declare: true}},
		"one that is not available falls silent":             {inputOf(cluster("c").condition(accepted, "True").condition(available, "False").tainted(since(unavailable, time.Hour)), silentFor), outcome{Declare: true, Taints: "unreachable since 1h0m0s"}},
		"a silent cluster reports that it is not available":  {inputOf(cluster("c").condition(accepted, "True").condition(available, "False").tainted(since(unreachable, time.Hour)), 0), outcome{Taints: "unavailable since 1h0m0s", LookAgain: testGrace}},
		"it is back": {inputOf(healthyCluster("c").tainted(since(unreachable, time.Hour)), 0), outcome{Taints: "none", LookAgain: testGrace}},
		"an unwatched cluster is tainted by its report":    {inputOf(cluster("c").condition(available, "Unknown"), silentFor), outcome{Taints: "unreachable since 0s"}},
		"and is not declared":                              {inputOf(cluster("c").condition(available, "True"), silentFor), outcome{}},
		"a joined cluster without a report is unreachable": {inputOf(cluster("c").condition(joined, "True")), outcome{Taints: "unreachable since 0s"}},

		"silence from before the loop began does not count": {inputOf(healthyCluster("c"), time.Hour).silentFrom(time.Second), outcome{LookAgain: testGrace - time.Second}},
		"silence from when it began does":                   {inputOf(healthyCluster("c"), time.Hour).silentFrom(testGrace), outcome{Declare: true, Taints: "unreachable since 0s"}},

		"a cluster that is being deleted is not tainted":       {inputOf(healthyCluster("c").terminating(), silentFor), outcome{Declare: true}},
		"it is being deleted, and its lease is gone":           {inputOf(healthyCluster("c").terminating()), outcome{Declare: true}},
		"it was declared by then":                              {inputOf(cluster("c").condition(accepted, "True").condition(available, "Unknown").terminating()), outcome{}},
		"it is being deleted, and keeps its taints":            {inputOf(healthyCluster("c").tainted(since(unavailable, time.Hour)).terminating(), 0), outcome{LookAgain: testGrace}},
		"one that was never watched is being deleted":          {inputOf(cluster("c").condition(available, "True").terminating()), outcome{}},
		"it is being deleted while the hub is suspected":       {inputOf(healthyCluster("c").terminating(), silentFor).underDisruption(), outcome{}},
		"it is, and its lease is gone: there is nothing to do": {inputOf(healthyCluster("c").terminating()).underDisruption(), outcome{Declare: true}},

		"the hub is suspected, and the cluster is silent":      {inputOf(healthyCluster("c"), silentFor).underDisruption(), outcome{}},
		"it is suspected, and the cluster was declared":        {inputOf(cluster("c").condition(accepted, "True").condition(available, "Unknown"), silentFor).underDisruption(), outcome{}},
		"it is suspected, and the cluster is not available":    {inputOf(cluster("c").condition(accepted, "True").condition(available, "False"), 0).underDisruption(), outcome{LookAgain: testGrace}},
		"it is suspected, and no taint is exchanged":           {inputOf(cluster("c").condition(accepted, "True").condition(available, "False").tainted(since(unreachable, time.Hour)), 0).underDisruption(), outcome{LookAgain: testGrace}},
		"it is suspected, and the cluster is back":             {inputOf(healthyCluster("c").tainted(since(unreachable, time.Hour)), 0).underDisruption(), outcome{Taints: "none", LookAgain: testGrace}},
		"it is suspected, and a new cluster gets a lease":      {inputOf(cluster("c").condition(accepted, "True")).underDisruption(), outcome{Lease: true}},
		"it is suspected, and clusters without a word as well": {inputOf(cluster("c")).withUnjoined().underDisruption(), outcome{}},
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
