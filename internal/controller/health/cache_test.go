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

// seen lets a cache observe a cluster and its lease for the first time, last renewed so long before noon.
func (h *healthCache) seen(b builder, renewed time.Duration) {
	at := noon.Add(-renewed)
	h.removeLease(b.Name)
	h.removeCluster(b.Name)
	h.setCluster(b.Obj(), at)
	h.setLease(b.Name, at, at)
	if e := h.clusters[b.Name]; e.unknown() {
		e.unknownSince = e.reportTime
	}
}

// begun is a cache that began an hour before noon, and holds so many clusters, of which the first were last heard so long
// before noon.
func begun(limit, clusters, silent int, ago time.Duration) *healthCache {
	h := newHealthCache(limit, false)
	h.begin(noon.Add(-time.Hour))
	for i := range clusters {
		renewed := time.Duration(0)
		if i < silent {
			renewed = ago
		}
		h.seen(healthy(fmt.Sprintf("c%02d", i)), renewed)
	}
	return h
}

// TestSuspicion asks, when the first of some silent clusters is due, whether the hub is suspected.
func TestSuspicion(t *testing.T) {
	const almost = five - period // later by one beat than the first
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
		"those that were never watched do not say": {55, 4, 3, many(4, cluster("u").says(available, "True")), true},
		"nor do those that never joined":           {55, 4, 3, many(4, cluster("u").says(accepted, "True")), true},
		"nor those that are going":                 {55, 4, 3, many(4, healthy("u").going()), true},
		"those that were denied do":                {55, 4, 3, many(4, healthy("u").says(accepted, "False")), false},
		"those that are not available do":          {55, 4, 3, many(4, healthy("u").says(available, "False")), false},
		"those declared long ago are old news":     {55, 10, 5, many(8, healthy("u").saysSince(available, "Unknown", noon.Add(-five))), false},
		"those that came before them are not":      {55, 5, 3, many(8, healthy("u").saysSince(available, "Unknown", noon.Add(-five))), true},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := begun(test.limit, test.clusters, test.silent, almost)
			for _, other := range test.others {
				renewed := time.Duration(0)
				if readFacts(other.Obj(), false).available == metav1.ConditionUnknown {
					renewed = time.Hour
				}
				r.seen(other, renewed)
			}
			r.seen(healthy("c00"), five)
			woken := r.listen()
			s, ok := r.situationOf("c00", noon)
			if !ok || s.suspended != test.want {
				t.Errorf("suspended %v, want %v", s.suspended, test.want)
			}
			if _, suspended := r.reviewDisruption(noon); suspended != test.want {
				t.Errorf("the review finds %v, want %v", suspended, test.want)
			}
			if got := woken(); slices.Contains(got, fleet) != test.want {
				t.Errorf("woken %q, want the review %v", got, test.want)
			}
		})
	}
}

// TestWhatWasDeclaredWithinAGraceCounts: a limit is not passed by and by either.
func TestWhatWasDeclaredWithinAGraceCounts(t *testing.T) {
	r := begun(55, 6, 2, five)
	for i, declared := range many(4, healthy("u")) {
		r.seen(declared.saysSince(available, "Unknown", noon.Add(-five+time.Duration(i+1)*time.Second)), time.Hour)
	}
	if s, _ := r.situationOf("c00", noon); !s.suspended {
		t.Error("2 are to be declared, 4 were within a grace, 10 are there: the hub is not suspected")
	}
}

func many(count int, b builder) []builder {
	var out []builder
	for i := range count {
		one := b.DeepCopy()
		one.Name += fmt.Sprint(i)
		out = append(out, builder{one})
	}
	return out
}

// listen returns a function that returns who was woken since, sorted, each once.
func (h *healthCache) listen() func() []string {
	var names []string
	h.wake = func(name string) { names = append(names, name) }
	return func() []string {
		out := slices.Compact(slices.Sorted(slices.Values(names)))
		names = nil
		return out
	}
}

// TestTheEndOfASuspicion: it ends when no more than half of the limit are silent, and not before.
func TestTheEndOfASuspicion(t *testing.T) {
	r := begun(55, 10, 8, five)
	if s, _ := r.situationOf("c00", noon); !s.suspended {
		t.Fatal("8 of 10 are silent, and the hub is not suspected")
	}
	woken := r.listen()
	for i, want := range []bool{true, true, true, true, true, false} { // 7, 6, 5, 4, 3, 2 of 10
		now := noon.Add(time.Duration(i) * time.Second)
		for other := range 10 {
			if other <= i || other >= 8 {
				r.setLease(fmt.Sprintf("c%02d", other), now, now)
			}
		}
		if diff := cmp.Diff([]string{fleet}, woken()); diff != "" {
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
		r.setLease(fmt.Sprintf("c%02d", other), end.Add(five), end.Add(five))
	}
	s, _ := r.situationOf("c07", end.Add(five-1))
	if s.suspended || s.expired() {
		t.Errorf("right before its new grace is over, a cluster is suspended: %v, expired: %v", s.suspended, s.expired())
	}
	if s, _ = r.situationOf("c07", end.Add(five)); !s.expired() {
		t.Error("once its new grace is over, a cluster has not expired")
	}
	r.endDisruption(end.Add(time.Hour))
	if s, _ = r.situationOf("c07", end.Add(five)); !s.expired() {
		t.Error("where no suspicion ends, none gets a new grace")
	}
}

// TestTimeAloneEndsNoSuspicion: what was declared shortly before it began goes on to count.
func TestTimeAloneEndsNoSuspicion(t *testing.T) {
	r := begun(55, 5, 1, five)
	for _, declared := range many(5, healthy("u")) {
		r.seen(declared.saysSince(available, "Unknown", noon.Add(-time.Second)), time.Hour)
	}
	if s, _ := r.situationOf("c00", noon); !s.suspended {
		t.Fatal("6 of 10 are silent, and the hub is not suspected")
	}
	later := noon.Add(24 * time.Hour)
	for i := 1; i < 5; i++ {
		r.setLease(fmt.Sprintf("c%02d", i), later, later)
	}
	if _, suspended := r.reviewDisruption(later); !suspended {
		t.Error("a day later as many are silent, and the suspicion has ended")
	}
}

func TestASuspicionIsTakenOver(t *testing.T) {
	for sentence, test := range map[string]struct {
		set  *clusterv1beta2.ManagedClusterSet
		want bool
	}{
		"the hub was suspected":   {global(time.Minute), true},
		"it was not":              {global(), false},
		"it was some time before": {builderOf(global(time.Minute), "False"), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := begun(55, 10, 4, five) // fewer than begin a suspicion, more than end one
			r.floor = time.Time{}
			r.recall(test.set)
			r.begin(noon)
			say, suspended := r.reviewDisruption(noon)
			if suspended != test.want {
				t.Errorf("suspended %v, want %v", suspended, test.want)
			}
			if test.want && say.Message != "as it was said" {
				t.Errorf("it says %q", say.Message)
			}
			r.recall(global(time.Hour))
			if _, again := r.reviewDisruption(noon); again != test.want {
				t.Error("what is stored later changes the suspicion")
			}
		})
	}
}

func builderOf(set *clusterv1beta2.ManagedClusterSet, status metav1.ConditionStatus) *clusterv1beta2.ManagedClusterSet {
	set.Status.Conditions[1].Status = status
	return set
}

// TestWhoIsWoken: what changes nothing wakes nobody.
func TestWhoIsWoken(t *testing.T) {
	changed := func(change func(*clusterv1.ManagedCluster)) *clusterv1.ManagedCluster {
		out := healthy("c").Obj()
		change(out)
		return out
	}
	for sentence, test := range map[string]struct {
		happens   func(*healthCache)
		suspected bool
		want      []string
	}{
		"a cluster comes": {func(r *healthCache) { r.setCluster(healthy("new").Obj(), noon) }, false, []string{"new"}},
		"a cluster goes":  {func(r *healthCache) { r.removeCluster("c") }, false, nil},
		"a heartbeat in the status": {func(r *healthCache) {
			r.setCluster(changed(func(c *clusterv1.ManagedCluster) {
				c.Labels = map[string]string{"a": "b"}
				c.Status.Conditions[2].Message, c.Status.Conditions[2].LastTransitionTime = "again", metav1.NewTime(noon)
				c.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: "a", Value: "b"}}
			}), noon)
		}, false, nil},
		"a renewed lease":    {func(r *healthCache) { r.setLease("c", noon, noon) }, false, nil},
		"one of a silent":    {func(r *healthCache) { r.setLease("silent", noon, noon) }, false, nil},
		"one of nobody":      {func(r *healthCache) { r.setLease("nobody", noon, noon) }, false, []string{"nobody"}},
		"a lease comes":      {func(r *healthCache) { r.setLease("bare", noon, noon) }, false, []string{"bare"}},
		"a lease goes":       {func(r *healthCache) { r.removeLease("c") }, false, []string{"c"}},
		"one of nobody goes": {func(r *healthCache) { r.removeLease("nobody") }, false, nil},
		"another report": {func(r *healthCache) {
			r.setCluster(changed(func(c *clusterv1.ManagedCluster) { c.Status.Conditions[2].Status = "False" }), noon)
		}, false, []string{"c"}},
		"another taint": {func(r *healthCache) { r.setCluster(healthy("c").tainted(since("gpu", 0)).Obj(), noon) }, false, []string{"c"}},
		"another period": {func(r *healthCache) {
			r.setCluster(changed(func(c *clusterv1.ManagedCluster) { c.Spec.LeaseDurationSeconds++ }), noon)
		}, false, []string{"c"}},
		"a cluster is to go": {func(r *healthCache) { r.setCluster(healthy("c").going().Obj(), noon) }, false, []string{"c"}},

		"in the first pass, that the informer shows what the loop wrote": {func(r *healthCache) {
			r.firstPass = true
			version := func(number string, taints ...clusterv1.Taint) *clusterv1.ManagedCluster {
				out := healthy("c").tainted(taints...).Obj()
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
		}, false, []string{fleet}},

		"while the hub is suspected, a heartbeat":   {func(r *healthCache) { r.setLease("c", noon, noon) }, true, nil},
		"the same of a cluster that was silent":     {func(r *healthCache) { r.setLease("silent", noon, noon) }, true, []string{fleet}},
		"while it is suspected, a lease goes":       {func(r *healthCache) { r.removeLease("c") }, true, []string{fleet, "c"}},
		"while it is suspected, a cluster goes":     {func(r *healthCache) { r.removeCluster("silent") }, true, []string{fleet}},
		"while it is suspected, there is a report":  {func(r *healthCache) { r.setCluster(healthy("c").says(available, "False").Obj(), noon) }, true, []string{fleet, "c"}},
		"what the loop wrote itself is no surprise": {func(r *healthCache) { r.setWritten(healthy("c").says(available, "Unknown").Obj(), noon) }, true, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newHealthCache(55, false)
			r.seen(healthy("c"), 0)
			r.seen(healthy("silent"), time.Hour)
			r.setCluster(healthy("bare").Obj(), noon)
			r.begin(noon)
			r.firstPass = false
			if test.suspected {
				r.disruption = &fullDisruption{}
			}
			woken := r.listen()
			test.happens(r)
			if diff := cmp.Diff(test.want, woken()); diff != "" {
				t.Errorf("woken (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOwnWritesComeBeforeTheCache: the informer shows later what the loop has written itself.
func TestOwnWritesComeBeforeTheCache(t *testing.T) {
	version := func(b builder, number, uid string) *clusterv1.ManagedCluster {
		out := b.DeepCopy()
		out.ResourceVersion, out.UID = number, metav1.ObjectMeta{UID: "1"}.UID
		if uid != "" {
			out.UID = metav1.ObjectMeta{UID: "2"}.UID
		}
		return out
	}
	declared := healthy("c").says(available, "Unknown")
	r := newHealthCache(55, false)
	state := func() string {
		s, there := r.situationOf("c", noon)
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
		{func() { r.setCluster(version(healthy("c"), "10", ""), noon) }, "True 1/10"},
		{func() { r.setWritten(version(declared, "12", ""), noon) }, "Unknown 1/12"},
		{func() { r.setCluster(version(healthy("c"), "11", ""), noon) }, "Unknown 1/12"},
		{func() { r.setWritten(version(healthy("c"), "11", ""), noon) }, "Unknown 1/12"},
		{func() { r.setCluster(version(healthy("c"), "100", ""), noon) }, "True 1/100"},
		{func() { r.setCluster(version(declared, "5", "another"), noon) }, "Unknown 2/5"},
		{func() { r.setWritten(version(healthy("c"), "101", ""), noon) }, "Unknown 2/5"},
		{func() { r.removeCluster("c") }, "gone"},
		{func() { r.setWritten(version(healthy("c"), "102", ""), noon) }, "gone"},
	} {
		step.happens()
		if got := state(); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
}

func TestWhatTheMetricsShow(t *testing.T) {
	r := newHealthCache(55, false)
	for status, count := range map[string]int{"True": 4, "False": 3, "Unknown": 2} {
		for _, b := range many(count, healthy("c-"+status+"-").says(available, status)) {
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
		t.Error("the suspicion is not shown")
	}
}

// TestNothingIsLeftOfWhatIsGone: the roster is no larger than what is stored.
func TestNothingIsLeftOfWhatIsGone(t *testing.T) {
	r := newHealthCache(55, false)
	for _, name := range []string{"a", "b"} {
		r.seen(healthy(name), 0)
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
