package health

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// observe adds a cluster and its lease to a cache. The lease was last renewed this long before noon.
func (h *healthCache) observe(b builder, renewed time.Duration) {
	at := noon.Add(-renewed)
	h.removeLease(b.Name)
	h.removeCluster(b.Name)
	h.setCluster(b.Obj(), at)
	h.setLease(b.Name, at, at)
	if e := h.clusters[b.Name]; e.unknown() {
		e.unknownSince = e.reportTime
	}
}

// startedCache is a cache that started an hour before noon. It holds this many clusters. The first of them are silent: their leases
// were last renewed this long before noon.
func startedCache(limit, clusters, silent int, ago time.Duration) *healthCache {
	h := newHealthCache(limit, false)
	h.start(noon.Add(-time.Hour))
	for i := range clusters {
		renewed := time.Duration(0)
		if i < silent {
			renewed = ago
		}
		h.observe(healthyCluster(fmt.Sprintf("c%02d", i)), renewed)
	}
	return h
}

// TestDisruptionIsDetected checks when the first silent cluster is due: too many silent clusters suspend reporting.
func TestDisruptionIsDetected(t *testing.T) {
	const almost = testGrace - period // one period later than the first
	for sentence, test := range map[string]struct {
		limit            int
		clusters, silent int
		others           []builder
		want             bool
	}{
		"one of ten is silent":                          {55, 10, 1, nil, false},
		"half are silent":                               {55, 10, 5, nil, false},
		"most are silent":                               {55, 10, 6, nil, true},
		"exactly the limit is silent":                   {60, 10, 6, nil, false},
		"two are too few":                               {55, 2, 2, nil, false},
		"three are enough":                              {55, 3, 3, nil, true},
		"a limit of 100 is never exceeded":              {100, 10, 10, nil, false},
		"a low limit is exceeded":                       {1, 100, 3, nil, true},
		"clusters that were never watched do not count": {55, 4, 3, repeat(4, cluster("u").condition(available, "True")), true},
		"clusters that never joined do not count":       {55, 4, 3, repeat(4, cluster("u").condition(accepted, "True")), true},
		"clusters that are being deleted do not count":  {55, 4, 3, repeat(4, healthyCluster("u").terminating()), true},
		"denied clusters count":                         {55, 4, 3, repeat(4, healthyCluster("u").condition(accepted, "False")), false},
		"unhealthy clusters count":                      {55, 4, 3, repeat(4, healthyCluster("u").condition(available, "False")), false},
		"clusters reported Unknown a grace period ago do not count as silent": {
			55, 10, 5,
			repeat(8, healthyCluster("u").conditionSince(available, "Unknown", noon.Add(-testGrace))), false,
		},
		"clusters reported Unknown a grace period ago do not count as live": {
			55, 5, 3,
			repeat(8, healthyCluster("u").conditionSince(available, "Unknown", noon.Add(-testGrace))), true,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := startedCache(test.limit, test.clusters, test.silent, almost)
			for _, other := range test.others {
				renewed := time.Duration(0)
				if readFacts(other.Obj(), false).available == metav1.ConditionUnknown {
					renewed = time.Hour
				}
				r.observe(other, renewed)
			}
			r.observe(healthyCluster("c00"), testGrace)
			enqueued := r.recordEnqueued()
			s, ok := r.input("c00", noon)
			if !ok || s.suspended != test.want {
				t.Errorf("suspended %v, want %v", s.suspended, test.want)
			}
			if _, suspended := r.reviewDisruption(noon); suspended != test.want {
				t.Errorf("the review returns suspended %v, want %v", suspended, test.want)
			}
			if got := enqueued(); slices.Contains(got, fleetRequest) != test.want {
				t.Errorf("enqueued %q, want the review %v", got, test.want)
			}
		})
	}
}

// TestRecentlyUnknownClustersCount: clusters that fail one after the other exceed the limit too.
func TestRecentlyUnknownClustersCount(t *testing.T) {
	r := startedCache(55, 6, 2, testGrace)
	for i, declared := range repeat(4, healthyCluster("u")) {
		r.observe(declared.conditionSince(available, "Unknown", noon.Add(-testGrace+time.Duration(i+1)*time.Second)), time.Hour)
	}
	if s, _ := r.input("c00", noon); !s.suspended {
		t.Error("of 10 clusters, 2 have expired and 4 were reported Unknown within a grace period: reporting is not suspended")
	}
}

func repeat(count int, b builder) []builder {
	var out []builder
	for i := range count {
		one := b.DeepCopy()
		one.Name += fmt.Sprint(i)
		out = append(out, builder{one})
	}
	return out
}

// recordEnqueued returns a function that returns the clusters enqueued since, sorted, each once.
func (h *healthCache) recordEnqueued() func() []string {
	var names []string
	h.enqueue = func(name string) { names = append(names, name) }
	return func() []string {
		out := slices.Compact(slices.Sorted(slices.Values(names)))
		names = nil
		return out
	}
}

// TestDisruptionEnds: a disruption ends as soon as at most half of the limit are silent.
func TestDisruptionEnds(t *testing.T) {
	r := startedCache(55, 10, 8, testGrace)
	if s, _ := r.input("c00", noon); !s.suspended {
		t.Fatal("8 of 10 are silent, and reporting is not suspended")
	}
	enqueued := r.recordEnqueued()
	for i, want := range []bool{true, true, true, true, true, false} { // 7, 6, 5, 4, 3, 2 of 10
		now := noon.Add(time.Duration(i) * time.Second)
		for other := range 10 {
			if other <= i || other >= 8 {
				r.setLease(fmt.Sprintf("c%02d", other), now, now)
			}
		}
		if diff := cmp.Diff([]string{fleetRequest}, enqueued()); diff != "" {
			t.Errorf("%d have renewed: enqueued (-want +got):\n%s", i+1, diff)
		}
		if _, suspended := r.reviewDisruption(now); suspended != want {
			t.Errorf("%d of 10 are silent: suspended %v, want %v", 7-i, suspended, want)
		}
	}
	end := noon.Add(10 * time.Second)
	r.endDisruption(end)
	if got := enqueued(); len(got) != 10 {
		t.Errorf("enqueued %q, want every cluster", got)
	}
	for other := range 7 {
		r.setLease(fmt.Sprintf("c%02d", other), end.Add(testGrace), end.Add(testGrace))
	}
	s, _ := r.input("c07", end.Add(testGrace-1))
	if s.suspended || s.expired() {
		t.Errorf("right before its new grace period ends, a cluster is suspended: %v, expired: %v", s.suspended, s.expired())
	}
	if s, _ = r.input("c07", end.Add(testGrace)); !s.expired() {
		t.Error("after its new grace period, a cluster has not expired")
	}
	r.endDisruption(end.Add(time.Hour))
	if s, _ = r.input("c07", end.Add(testGrace)); !s.expired() {
		t.Error("a cluster gets a new grace period though no disruption ends")
	}
}

// TestTimeAloneEndsNoDisruption: clusters reported Unknown shortly before the disruption still count.
func TestTimeAloneEndsNoDisruption(t *testing.T) {
	r := startedCache(55, 5, 1, testGrace)
	for _, declared := range repeat(5, healthyCluster("u")) {
		r.observe(declared.conditionSince(available, "Unknown", noon.Add(-time.Second)), time.Hour)
	}
	if s, _ := r.input("c00", noon); !s.suspended {
		t.Fatal("6 of 10 are silent, and reporting is not suspended")
	}
	later := noon.Add(24 * time.Hour)
	for i := 1; i < 5; i++ {
		r.setLease(fmt.Sprintf("c%02d", i), later, later)
	}
	if _, suspended := r.reviewDisruption(later); !suspended {
		t.Error("a day later the same clusters are silent, and the disruption has ended")
	}
}

func TestDisruptionIsRestored(t *testing.T) {
	for sentence, test := range map[string]struct {
		set  *clusterv1beta2.ManagedClusterSet
		want bool
	}{
		"reporting was suspended":         {globalSet(time.Minute), true},
		"reporting was not suspended":     {globalSet(), false},
		"an earlier disruption has ended": {withSuspended(globalSet(time.Minute), "False"), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := startedCache(55, 10, 4, testGrace) // too few to begin a disruption, too many to end it
			r.silenceFrom = time.Time{}
			r.restoreDisruption(test.set)
			r.start(noon)
			reported, suspended := r.reviewDisruption(noon)
			if suspended != test.want {
				t.Errorf("suspended %v, want %v", suspended, test.want)
			}
			if test.want && reported.Message != "as stored" {
				t.Errorf("message %q", reported.Message)
			}
			r.restoreDisruption(globalSet(time.Hour))
			if _, again := r.reviewDisruption(noon); again != test.want {
				t.Error("a condition that is stored later changes the disruption")
			}
		})
	}
}

func withSuspended(set *clusterv1beta2.ManagedClusterSet, status metav1.ConditionStatus) *clusterv1beta2.ManagedClusterSet {
	set.Status.Conditions[1].Status = status
	return set
}

// TestEnqueue: a cluster is enqueued exactly if the decision may change.
func TestEnqueue(t *testing.T) {
	changed := func(change func(*clusterv1.ManagedCluster)) *clusterv1.ManagedCluster {
		out := healthyCluster("c").Obj()
		change(out)
		return out
	}
	for sentence, test := range map[string]struct {
		happens   func(*healthCache)
		suspended bool
		want      []string
	}{
		"a cluster is created": {func(r *healthCache) { r.setCluster(healthyCluster("new").Obj(), noon) }, false, []string{"new"}},
		"a cluster is gone":    {func(r *healthCache) { r.removeCluster("c") }, false, nil},
		"labels, claims and the message of a condition change": {func(r *healthCache) {
			r.setCluster(changed(func(c *clusterv1.ManagedCluster) {
				c.Labels = map[string]string{"a": "b"}
				c.Status.Conditions[2].Message, c.Status.Conditions[2].LastTransitionTime = "again", metav1.NewTime(noon)
				c.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: "a", Value: "b"}}
			}), noon)
		}, false, nil},
		"a lease is renewed":                       {func(r *healthCache) { r.setLease("c", noon, noon) }, false, nil},
		"the lease of a silent cluster is renewed": {func(r *healthCache) { r.setLease("silent", noon, noon) }, false, nil},
		"a lease without a cluster is renewed":     {func(r *healthCache) { r.setLease("missing", noon, noon) }, false, []string{"missing"}},
		"a lease is created":                       {func(r *healthCache) { r.setLease("bare", noon, noon) }, false, []string{"bare"}},
		"a lease is deleted":                       {func(r *healthCache) { r.removeLease("c") }, false, []string{"c"}},
		"a lease without a cluster is deleted":     {func(r *healthCache) { r.removeLease("missing") }, false, nil},
		"the report changes": {func(r *healthCache) {
			r.setCluster(changed(func(c *clusterv1.ManagedCluster) { c.Status.Conditions[2].Status = "False" }), noon)
		}, false, []string{"c"}},
		"a taint changes": {
			func(r *healthCache) { r.setCluster(healthyCluster("c").tainted(since("gpu", 0)).Obj(), noon) }, false,
			[]string{"c"},
		},
		"the lease period changes": {func(r *healthCache) {
			r.setCluster(changed(func(c *clusterv1.ManagedCluster) { c.Spec.LeaseDurationSeconds++ }), noon)
		}, false, []string{"c"}},
		"a cluster is being deleted": {
			func(r *healthCache) { r.setCluster(healthyCluster("c").terminating().Obj(), noon) }, false,
			[]string{"c"},
		},

		"in the first pass, the informer shows a write of the controller": {func(r *healthCache) {
			r.firstPass = true
			version := func(number string, taints ...clusterv1.Taint) *clusterv1.ManagedCluster {
				out := healthyCluster("c").tainted(taints...).Obj()
				out.ResourceVersion = number
				return out
			}
			r.setCluster(version("1"), noon)
			r.setWritten(version("2", since(unreachable, 0)), noon)
			r.setCluster(version("1"), noon)
			if r.unjoined.mode = modeAll; r.endFirstPass() {
				panic("the informer has not shown the taint")
			}
			r.setCluster(version("2", since(unreachable, 0)), noon)
		}, false, []string{fleetRequest}},

		"suspended: a lease is renewed": {func(r *healthCache) { r.setLease("c", noon, noon) }, true, nil},
		"suspended: the lease of a silent cluster is renewed": {
			func(r *healthCache) { r.setLease("silent", noon, noon) }, true,
			[]string{fleetRequest},
		},
		"suspended: a lease is deleted": {func(r *healthCache) { r.removeLease("c") }, true, []string{fleetRequest, "c"}},
		"suspended: a cluster is gone":  {func(r *healthCache) { r.removeCluster("silent") }, true, []string{fleetRequest}},
		"suspended: the report changes": {func(r *healthCache) {
			r.setCluster(healthyCluster("c").condition(available, "False").Obj(), noon)
		}, true, []string{fleetRequest, "c"}},
		"suspended: the controller writes": {func(r *healthCache) {
			r.setWritten(healthyCluster("c").condition(available, "Unknown").Obj(), noon)
		}, true, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newHealthCache(55, false)
			r.observe(healthyCluster("c"), 0)
			r.observe(healthyCluster("silent"), time.Hour)
			r.setCluster(healthyCluster("bare").Obj(), noon)
			r.start(noon)
			r.firstPass = false
			if test.suspended {
				r.disruption = &fullDisruption{}
			}
			enqueued := r.recordEnqueued()
			test.happens(r)
			if diff := cmp.Diff(test.want, enqueued()); diff != "" {
				t.Errorf("enqueued (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOwnWritesPrecedeTheCache: the informer shows the controller's own writes later.
func TestOwnWritesPrecedeTheCache(t *testing.T) {
	version := func(b builder, number, uid string) *clusterv1.ManagedCluster {
		out := b.DeepCopy()
		out.ResourceVersion, out.UID = number, metav1.ObjectMeta{UID: "1"}.UID
		if uid != "" {
			out.UID = metav1.ObjectMeta{UID: "2"}.UID
		}
		return out
	}
	declared := healthyCluster("c").condition(available, "Unknown")
	r := newHealthCache(55, false)
	state := func() string {
		s, there := r.input("c", noon)
		if !there {
			return "gone"
		}
		return string(s.available) + " " + string(s.cluster.UID) + "/" + s.cluster.ResourceVersion
	}
	for i, step := range []struct {
		happens func()
		want    string
	}{
		{func() { r.setWritten(version(declared, "9", ""), noon) }, "gone"},
		{func() { r.setCluster(version(healthyCluster("c"), "10", ""), noon) }, "True 1/10"},
		{func() { r.setWritten(version(declared, "12", ""), noon) }, "Unknown 1/12"},
		{func() { r.setCluster(version(healthyCluster("c"), "11", ""), noon) }, "Unknown 1/12"},
		{func() { r.setWritten(version(healthyCluster("c"), "11", ""), noon) }, "Unknown 1/12"},
		{func() { r.setCluster(version(healthyCluster("c"), "100", ""), noon) }, "True 1/100"},
		{func() { r.setCluster(version(declared, "5", "another"), noon) }, "Unknown 2/5"},
		{func() { r.setWritten(version(healthyCluster("c"), "101", ""), noon) }, "Unknown 2/5"},
		{func() { r.removeCluster("c") }, "gone"},
		{func() { r.setWritten(version(healthyCluster("c"), "102", ""), noon) }, "gone"},
	} {
		step.happens()
		if got := state(); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
}

func TestState(t *testing.T) {
	r := newHealthCache(55, false)
	for status, count := range map[string]int{"True": 4, "False": 3, "Unknown": 2} {
		for _, b := range repeat(count, healthyCluster("c-"+status+"-").condition(available, status)) {
			r.setCluster(b.Obj(), noon)
		}
	}
	r.setCluster(cluster("new").condition(clusterv1.ManagedClusterConditionWorkEvictionHeld, "True").Obj(), noon)
	r.setLease("no-cluster", noon, noon)
	want := State{Available: 4, Unavailable: 3, Unreachable: 2, Unreported: 1, EvictionsHeld: 1}
	if diff := cmp.Diff(want, r.state()); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	r.disruption = &fullDisruption{}
	if !r.state().Suspended {
		t.Error("the state does not include the disruption")
	}
}

// TestRemovedClustersLeaveNothing: the cache holds no entry for a deleted cluster.
func TestRemovedClustersLeaveNothing(t *testing.T) {
	r := newHealthCache(55, false)
	for _, name := range []string{"a", "b"} {
		r.observe(healthyCluster(name), 0)
	}
	r.removeCluster("a")
	r.removeLease("a")
	r.removeLease("b")
	r.removeCluster("b")
	r.removeCluster("never")
	if len(r.clusters) > 0 {
		t.Errorf("%d entries are left", len(r.clusters))
	}
}

// TestAShorterPeriodCountsFromTheEdit shortens the period of a cluster whose lease was renewed some time before.
func TestAShorterPeriodCountsFromTheEdit(t *testing.T) {
	for sentence, test := range map[string]struct {
		renewed, passed time.Duration
		want            bool
	}{
		"at once":                                {testGrace - time.Second, 0, false},
		"before the shorter period ends":         {testGrace - time.Second, 5*time.Second - 1, false},
		"after the shorter period":               {testGrace - time.Second, 5 * time.Second, true},
		"a cluster that was silent for too long": {testGrace, 0, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := newHealthCache(100, false)
			h.start(noon.Add(-time.Hour))
			h.observe(healthyCluster("c"), test.renewed)
			short := healthyCluster("c").Obj()
			short.ResourceVersion, short.Spec.LeaseDurationSeconds = "2", 1
			h.setCluster(short, noon)
			now := noon.Add(test.passed)
			if got := !now.Before(h.clusters["c"].expiry(h.silenceFrom)); got != test.want {
				t.Errorf("silent for too long: %t, want %t", got, test.want)
			}
		})
	}
}
