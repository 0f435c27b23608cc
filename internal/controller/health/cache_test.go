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
	"github.com/berth-project/berth/internal/telemetry"
)

// observe lets a cache observe a cluster and its lease for the first time, last renewed so long before noon.
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

// startedCache is a cache that began an hour before noon, and holds so many clusters, of which the first were last heard so long
// before noon.
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

// TestDisruptionIsDetected asks, when the first of some silent clusters is due, whether the hub is suspected.
func TestDisruptionIsDetected(t *testing.T) {
	const almost = testGrace - period // later by one beat than the first
	for sentence, test := range map[string]struct {
		limit            int
		clusters, silent int
		others           []builder
		want             bool
	}{
		"one of ten is down":                       {55, 10, 1, nil, false},
		"half are":                                 {55, 10, 5, nil, false},
		"most are":                                 {55, 10, 6, nil, true},
		"the limit itself is not beyond it":        {60, 10, 6, nil, false},
		"two are never too many":                   {55, 2, 2, nil, false},
		"three may be":                             {55, 3, 3, nil, true},
		"a limit of a hundred is never passed":     {100, 10, 10, nil, false},
		"a low limit is soon passed":               {1, 100, 3, nil, true},
		"those that were never watched do not say": {55, 4, 3, repeat(4, cluster("u").condition(available, "True")), true},
		"nor do those that never joined":           {55, 4, 3, repeat(4, cluster("u").condition(accepted, "True")), true},
		"nor those that are going":                 {55, 4, 3, repeat(4, healthyCluster("u").terminating()), true},
		"those that were denied do":                {55, 4, 3, repeat(4, healthyCluster("u").condition(accepted, "False")), false},
		"those that are not available do":          {55, 4, 3, repeat(4, healthyCluster("u").condition(available, "False")), false},
		"those declared long ago are old news":     {55, 10, 5, repeat(8, healthyCluster("u").conditionSince(available, "Unknown", noon.Add(-testGrace))), false},
		"those that came before them are not":      {55, 5, 3, repeat(8, healthyCluster("u").conditionSince(available, "Unknown", noon.Add(-testGrace))), true},
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
			woken := r.recordWakes()
			s, ok := r.input("c00", noon)
			if !ok || s.suspended != test.want {
				t.Errorf("suspended %v, want %v", s.suspended, test.want)
			}
			if _, suspended := r.reviewDisruption(noon); suspended != test.want {
				t.Errorf("the review finds %v, want %v", suspended, test.want)
			}
			if got := woken(); slices.Contains(got, fleetRequest) != test.want {
				t.Errorf("woken %q, want the review %v", got, test.want)
			}
		})
	}
}

// TestRecentlyUnknownClustersCount: a limit is not passed by and by either.
func TestRecentlyUnknownClustersCount(t *testing.T) {
	r := startedCache(55, 6, 2, testGrace)
	for i, declared := range repeat(4, healthyCluster("u")) {
		r.observe(declared.conditionSince(available, "Unknown", noon.Add(-testGrace+time.Duration(i+1)*time.Second)), time.Hour)
	}
	if s, _ := r.input("c00", noon); !s.suspended {
		t.Error("2 are to be declared, 4 were within a grace, 10 are there: the hub is not suspected")
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

// recordWakes returns a function that returns who was woken since, sorted, each once.
func (h *healthCache) recordWakes() func() []string {
	var names []string
	h.wake = func(name string) { names = append(names, name) }
	return func() []string {
		out := slices.Compact(slices.Sorted(slices.Values(names)))
		names = nil
		return out
	}
}

// TestDisruptionEnds: it ends when no more than half of the limit are silent, and not before.
func TestDisruptionEnds(t *testing.T) {
	r := startedCache(55, 10, 8, testGrace)
	if s, _ := r.input("c00", noon); !s.suspended {
		t.Fatal("8 of 10 are silent, and the hub is not suspected")
	}
	woken := r.recordWakes()
	for i, want := range []bool{true, true, true, true, true, false} { // 7, 6, 5, 4, 3, 2 of 10
		now := noon.Add(time.Duration(i) * time.Second)
		for other := range 10 {
			if other <= i || other >= 8 {
				r.setLease(fmt.Sprintf("c%02d", other), now, now)
			}
		}
		if diff := cmp.Diff([]string{fleetRequest}, woken()); diff != "" {
			t.Errorf("%d are back: woken (-want +got):\n%s", i+1, diff)
		}
		if _, suspended := r.reviewDisruption(now); suspended != want {
			t.Errorf("%d of 10 are silent: suspended %v, want %v", 7-i, suspended, want)
		}
	}
	end := noon.Add(10 * time.Second)
	r.endDisruption(end)
	if got := woken(); len(got) != 10 {
		t.Errorf("woken %q, want every cluster", got)
	}
	for other := range 7 {
		r.setLease(fmt.Sprintf("c%02d", other), end.Add(testGrace), end.Add(testGrace))
	}
	s, _ := r.input("c07", end.Add(testGrace-1))
	if s.suspended || s.expired() {
		t.Errorf("right before its new grace is over, a cluster is suspended: %v, expired: %v", s.suspended, s.expired())
	}
	if s, _ = r.input("c07", end.Add(testGrace)); !s.expired() {
		t.Error("once its new grace is over, a cluster has not expired")
	}
	r.endDisruption(end.Add(time.Hour))
	if s, _ = r.input("c07", end.Add(testGrace)); !s.expired() {
		t.Error("a cluster gets a new grace period though no disruption ends")
	}
}

// TestTimeAloneEndsNoDisruption: what was declared shortly before it began goes on to count.
func TestTimeAloneEndsNoDisruption(t *testing.T) {
	r := startedCache(55, 5, 1, testGrace)
	for _, declared := range repeat(5, healthyCluster("u")) {
		r.observe(declared.conditionSince(available, "Unknown", noon.Add(-time.Second)), time.Hour)
	}
	if s, _ := r.input("c00", noon); !s.suspended {
		t.Fatal("6 of 10 are silent, and the hub is not suspected")
	}
	later := noon.Add(24 * time.Hour)
	for i := 1; i < 5; i++ {
		r.setLease(fmt.Sprintf("c%02d", i), later, later)
	}
	if _, suspended := r.reviewDisruption(later); !suspended {
		t.Error("a day later as many are silent, and the disruption has ended")
	}
}

func TestDisruptionIsRestored(t *testing.T) {
	for sentence, test := range map[string]struct {
		set  *clusterv1beta2.ManagedClusterSet
		want bool
	}{
		"the hub was suspected":   {globalSet(time.Minute), true},
		"it was not":              {globalSet(), false},
		"it was some time before": {withSuspended(globalSet(time.Minute), "False"), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := startedCache(55, 10, 4, testGrace) // fewer than begin a disruption, more than end one
			r.silenceFrom = time.Time{}
			r.restoreDisruption(test.set)
			r.start(noon)
			say, suspended := r.reviewDisruption(noon)
			if suspended != test.want {
				t.Errorf("suspended %v, want %v", suspended, test.want)
			}
			if test.want && say.Message != "as stored" {
				t.Errorf("message %q", say.Message)
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

// TestWakes: a cluster is enqueued exactly if the decision may change.
func TestWakes(t *testing.T) {
	changed := func(change func(*clusterv1.ManagedCluster)) *clusterv1.ManagedCluster {
		out := healthyCluster("c").Obj()
		change(out)
		return out
	}
	for sentence, test := range map[string]struct {
		happens   func(*healthCache)
		suspected bool
		want      []string
	}{
		"a cluster comes": {func(r *healthCache) { r.setCluster(healthyCluster("new").Obj(), noon) }, false, []string{"new"}},
		"a cluster goes":  {func(r *healthCache) { r.removeCluster("c") }, false, nil},
		"a heartbeat in the status": {func(r *healthCache) {
			r.setCluster(changed(func(c *clusterv1.ManagedCluster) {
				c.Labels = map[string]string{"a": "b"}
				c.Status.Conditions[2].Message, c.Status.Conditions[2].LastTransitionTime = "again", metav1.NewTime(noon)
				c.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: "a", Value: "b"}}
			}), noon)
		}, false, nil},
		"a renewed lease":            {func(r *healthCache) { r.setLease("c", noon, noon) }, false, nil},
		"one of a silent":            {func(r *healthCache) { r.setLease("silent", noon, noon) }, false, nil},
		"without a cluster":          {func(r *healthCache) { r.setLease("missing", noon, noon) }, false, []string{"missing"}},
		"a lease comes":              {func(r *healthCache) { r.setLease("bare", noon, noon) }, false, []string{"bare"}},
		"a lease goes":               {func(r *healthCache) { r.removeLease("c") }, false, []string{"c"}},
		"without a cluster, deleted": {func(r *healthCache) { r.removeLease("missing") }, false, nil},
		"another report": {func(r *healthCache) {
			r.setCluster(changed(func(c *clusterv1.ManagedCluster) { c.Status.Conditions[2].Status = "False" }), noon)
		}, false, []string{"c"}},
		"another taint": {func(r *healthCache) { r.setCluster(healthyCluster("c").tainted(since("gpu", 0)).Obj(), noon) }, false, []string{"c"}},
		"another period": {func(r *healthCache) {
			r.setCluster(changed(func(c *clusterv1.ManagedCluster) { c.Spec.LeaseDurationSeconds++ }), noon)
		}, false, []string{"c"}},
		"a cluster is to go": {func(r *healthCache) { r.setCluster(healthyCluster("c").terminating().Obj(), noon) }, false, []string{"c"}},

		"in the first pass, that the informer shows what the loop wrote": {func(r *healthCache) {
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

		"while the hub is suspected, a heartbeat":   {func(r *healthCache) { r.setLease("c", noon, noon) }, true, nil},
		"the same of a cluster that was silent":     {func(r *healthCache) { r.setLease("silent", noon, noon) }, true, []string{fleetRequest}},
		"while it is suspected, a lease goes":       {func(r *healthCache) { r.removeLease("c") }, true, []string{fleetRequest, "c"}},
		"while it is suspected, a cluster goes":     {func(r *healthCache) { r.removeCluster("silent") }, true, []string{fleetRequest}},
		"while it is suspected, there is a report":  {func(r *healthCache) { r.setCluster(healthyCluster("c").condition(available, "False").Obj(), noon) }, true, []string{fleetRequest, "c"}},
		"what the loop wrote itself is no surprise": {func(r *healthCache) { r.setWritten(healthyCluster("c").condition(available, "Unknown").Obj(), noon) }, true, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newHealthCache(55, false)
			r.observe(healthyCluster("c"), 0)
			r.observe(healthyCluster("silent"), time.Hour)
			r.setCluster(healthyCluster("bare").Obj(), noon)
			r.start(noon)
			r.firstPass = false
			if test.suspected {
				r.disruption = &fullDisruption{}
			}
			woken := r.recordWakes()
			test.happens(r)
			if diff := cmp.Diff(test.want, woken()); diff != "" {
				t.Errorf("woken (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOwnWritesPrecedeTheCache: the informer shows later what the loop has written itself.
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
	r.setCluster(cluster("new").Obj(), noon)
	r.setLease("no-cluster", noon, noon)
	want := telemetry.HealthState{Available: 4, Unavailable: 3, Unreachable: 2, Unreported: 1}
	if diff := cmp.Diff(want, r.state()); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	r.disruption = &fullDisruption{}
	if !r.state().Suspended {
		t.Error("the disruption is not shown")
	}
}

// TestRemovedClustersLeaveNothing: the roster is no larger than what is stored.
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
