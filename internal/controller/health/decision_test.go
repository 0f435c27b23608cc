package health

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at returns the situation of a cluster at noon, on a loop that began an hour before. The lease, if there is one, was seen
// renewed so long before noon.
func at(b builder, renewed ...time.Duration) situation {
	e := &entry{}
	newHealthCache(55, false).set(e, b.Obj(), noon)
	for _, before := range renewed {
		e.leased, e.heard = true, noon.Add(-before)
	}
	return situation{clusterHealth: e.clusterHealth, mode: modeReported, cluster: b.Obj(), floor: noon.Add(-time.Hour), now: noon}
}

func (s situation) began(before time.Duration) situation {
	s.floor = noon.Add(-before)
	return s
}

func (s situation) underDisruption() situation {
	s.suspended = true
	return s
}

func (s situation) withUnjoined() situation {
	s.mode = modeAll
	return s
}

func TestDecide(t *testing.T) {
	const never = time.Duration(0)
	silentFor := five + time.Second
	slow := healthy("c")
	slow.Spec.LeaseDurationSeconds = 0
	odd := healthy("c")
	odd.Spec.LeaseDurationSeconds = -1
	long, longest := healthy("c"), healthy("c")
	long.Spec.LeaseDurationSeconds, longest.Spec.LeaseDurationSeconds = 3600, math.MaxInt32
	type outcome struct {
		Lease, Declare bool
		Taints         string
		// LookAgain is how long after noon.
		LookAgain time.Duration
	}
	for sentence, test := range map[string]struct {
		s    situation
		want outcome
	}{
		"nobody ever said anything about the cluster":           {at(cluster("c"), silentFor), outcome{}},
		"the same, with the flag":                               {at(cluster("c"), silentFor).withUnjoined(), outcome{Taints: "unreachable since 0s"}},
		"it was accepted, and gets a lease":                     {at(cluster("c").says(accepted, "True")).withUnjoined(), outcome{Lease: true, Taints: "unreachable since 0s"}},
		"it was denied, and gets one too":                       {at(healthy("c").says(accepted, "False")), outcome{Lease: true}},
		"it has joined, and is healthy":                         {at(healthy("c"), 0), outcome{LookAgain: five}},
		"it is looked at again right when its grace is over":    {at(healthy("c"), five-time.Nanosecond), outcome{LookAgain: time.Nanosecond}},
		"its grace is over":                                     {at(healthy("c"), five), outcome{Declare: true, Taints: "unreachable since 0s"}},
		"a lease without period has one of a minute":            {at(slow, time.Minute), outcome{LookAgain: 4 * time.Minute}},
		"so has one of a period that is none":                   {at(odd, 5*time.Minute), outcome{Declare: true, Taints: "unreachable since 0s"}},
		"a lease of an hour counts as it is":                    {at(long, time.Minute), outcome{LookAgain: 5*time.Hour - time.Minute}},
		"a longer one counts as one of an hour":                 {at(longest, time.Minute), outcome{LookAgain: 5*time.Hour - time.Minute}},
		"nobody who is declared is declared again":              {at(cluster("c").says(accepted, "True").says(available, "Unknown").tainted(since(unreachable, time.Minute)), silentFor), outcome{}},
		"one that was declared without its taint gets it":       {at(cluster("c").says(accepted, "True").says(available, "Unknown"), silentFor), outcome{Taints: "unreachable since 0s"}},
		"one that never said how it was is declared in the end": {at(cluster("c").says(accepted, "True").tainted(since(unreachable, time.Minute)), silentFor), outcome{Declare: true}},
		"one that is not available falls silent":                {at(cluster("c").says(accepted, "True").says(available, "False").tainted(since(unavailable, time.Hour)), silentFor), outcome{Declare: true, Taints: "unreachable since 1h0m0s"}},
		"one that was silent says that it is not available":     {at(cluster("c").says(accepted, "True").says(available, "False").tainted(since(unreachable, time.Hour)), 0), outcome{Taints: "unavailable since 1h0m0s", LookAgain: five}},
		"it is back": {at(healthy("c").tainted(since(unreachable, time.Hour)), 0), outcome{Taints: "none", LookAgain: five}},
		"one that nobody watches goes by what is reported":      {at(cluster("c").says(available, "Unknown"), silentFor), outcome{Taints: "unreachable since 0s"}},
		"and is not declared":                                   {at(cluster("c").says(available, "True"), silentFor), outcome{}},
		"one that has joined and says nothing is not reachable": {at(cluster("c").says(joined, "True")), outcome{Taints: "unreachable since 0s"}},

		"silence from before the loop began does not count": {at(healthy("c"), time.Hour).began(time.Second), outcome{LookAgain: five - time.Second}},
		"silence from when it began does":                   {at(healthy("c"), time.Hour).began(five), outcome{Declare: true, Taints: "unreachable since 0s"}},

		"it is being deleted, and nobody taints it":            {at(healthy("c").going(), silentFor), outcome{Declare: true}},
		"it is being deleted, and its lease is gone":           {at(healthy("c").going()), outcome{Declare: true}},
		"it was declared by then":                              {at(cluster("c").says(accepted, "True").says(available, "Unknown").going()), outcome{}},
		"it is being deleted, and keeps its taints":            {at(healthy("c").tainted(since(unavailable, time.Hour)).going(), 0), outcome{LookAgain: five}},
		"one that was never watched is being deleted":          {at(cluster("c").says(available, "True").going()), outcome{}},
		"it is being deleted while the hub is suspected":       {at(healthy("c").going(), silentFor).underDisruption(), outcome{}},
		"it is, and its lease is gone: there is nothing to do": {at(healthy("c").going()).underDisruption(), outcome{Declare: true}},

		"the hub is suspected, and the cluster is silent":      {at(healthy("c"), silentFor).underDisruption(), outcome{}},
		"it is suspected, and the cluster was declared":        {at(cluster("c").says(accepted, "True").says(available, "Unknown"), silentFor).underDisruption(), outcome{}},
		"it is suspected, and the cluster is not available":    {at(cluster("c").says(accepted, "True").says(available, "False"), 0).underDisruption(), outcome{LookAgain: five}},
		"it is suspected, and no taint is exchanged":           {at(cluster("c").says(accepted, "True").says(available, "False").tainted(since(unreachable, time.Hour)), 0).underDisruption(), outcome{LookAgain: five}},
		"it is suspected, and the cluster is back":             {at(healthy("c").tainted(since(unreachable, time.Hour)), 0).underDisruption(), outcome{Taints: "none", LookAgain: five}},
		"it is suspected, and a new cluster gets a lease":      {at(cluster("c").says(accepted, "True")).underDisruption(), outcome{Lease: true}},
		"it is suspected, and clusters without a word as well": {at(cluster("c")).withUnjoined().underDisruption(), outcome{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			before := text(test.s.cluster.Spec.Taints)
			d := decide(test.s)
			got := outcome{Lease: d.createLease, Declare: d.reportUnknown, LookAgain: never}
			if !d.taints.empty() {
				got.Taints = text(d.taints.taints)
			}
			if !d.lookAgain.IsZero() {
				got.LookAgain = d.lookAgain.Sub(noon)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
			if after := text(test.s.cluster.Spec.Taints); after != before {
				t.Errorf("the cluster was changed: %s, before %s", after, before)
			}
		})
	}
}
