package assumed

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

type object = metav1.PartialObjectMetadata

var start = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

func at(uid string, number int) *object {
	return &object{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: types.UID(uid), ResourceVersion: strconv.Itoa(number)}}
}

func terminating(of *object) *object {
	of.DeletionTimestamp = &metav1.Time{Time: start}
	return of
}

// step is what happens to one object, in a Write and in a Cache.
type step struct {
	written *object
	// deleted is the uid of an object that this process deletes, gone the uid of an object whose deletion the informer shows.
	deleted, gone types.UID
	shown         *object
	after         time.Duration
}

// TestWhenAnAssumptionEnds holds the rule of the package comment, for a Write as placements use it and for a Cache as planners use it.
func TestWhenAnAssumptionEnds(t *testing.T) {
	for sentence, test := range map[string]struct {
		steps []step
		// write and cache are what is stored most probably, as "uid/version".
		write, cache string
	}{
		"nothing is assumed": {
			[]step{{shown: at("u", 3)}},
			"u/3", "u/3",
		},
		"a write that is not shown": {
			[]step{{written: at("u", 5)}},
			"u/5", "u/5",
		},
		"a write that is shown": {
			[]step{{written: at("u", 5)}, {shown: at("u", 5)}},
			"u/5", "u/5",
		},
		"a later version is shown": {
			[]step{{written: at("u", 5)}, {shown: at("u", 6)}},
			"u/6", "u/6",
		},
		"an earlier version is shown": {
			[]step{{written: at("u", 5)}, {shown: at("u", 4)}},
			"u/5", "u/5",
		},
		"an earlier version is shown for hours": {
			[]step{{shown: at("u", 4)}, {written: at("u", 5), after: 9 * time.Hour}},
			"u/5", "u/5",
		},
		"the write is faster than its response": {
			[]step{{shown: at("u", 6)}, {written: at("u", 5)}},
			"u/6", "u/6",
		},
		"nothing is shown until the timeout": {
			[]step{{written: at("u", 5), after: Timeout}},
			"u/5", "u/5",
		},
		"nothing is shown after the timeout": {
			[]step{{written: at("u", 5), after: Timeout + 1}},
			"", "",
		},
		"the second write counts from its time": {
			[]step{{written: at("u", 5), after: Timeout}, {written: at("u", 6), after: Timeout}},
			"u/6", "u/6",
		},
		"the write is gone": {
			[]step{{shown: at("u", 4)}, {written: at("u", 5)}, {gone: "u"}},
			"", "",
		},
		"a former object is gone": {
			[]step{{shown: at("o", 4)}, {written: at("u", 5)}, {gone: "o"}},
			"u/5", "u/5",
		},
		"a deletion that is not shown": {
			[]step{{shown: at("u", 4)}, {deleted: "u"}},
			"", "u/4 terminating",
		},
		"a deletion that is not shown for hours": {
			[]step{{shown: at("u", 4)}, {deleted: "u", after: 9 * time.Hour}},
			"", "u/4 terminating",
		},
		"a deletion of a changed object": {
			[]step{{shown: at("u", 4)}, {written: at("u", 5)}, {deleted: "u"}},
			"", "u/4 terminating",
		},
		"a finalizer holds a deleted object": {
			[]step{{shown: at("u", 4)}, {deleted: "u"}, {shown: terminating(at("u", 5))}},
			"", "u/5 terminating",
		},
		"a deleted object is gone": {
			[]step{{shown: at("u", 4)}, {deleted: "u"}, {gone: "u"}},
			"", "",
		},
		"a deleted object is created again": {
			[]step{{shown: at("u", 4)}, {deleted: "u"}, {shown: at("v", 6)}},
			"v/6", "v/6",
		},
		"this process creates a deleted one again": {
			[]step{{shown: at("u", 4)}, {deleted: "u"}, {written: at("v", 6)}},
			"v/6", "v/6",
		},
		"another client deletes what it made before": {
			[]step{{written: at("u", 5)}, {shown: at("u", 5)}, {gone: "u"}},
			"", "",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			var w Write[*object]
			var c Cache[*object]
			var cached *object
			now := start
			for _, s := range test.steps {
				if s.written != nil {
					w.Set(s.written, cached, now)
					c.Set(s.written, now)
				}
				if s.deleted != "" {
					w.Delete(s.deleted)
					c.Delete(types.NamespacedName{Namespace: "ns", Name: "a"}, s.deleted)
				}
				if s.gone != "" {
					cached = nil
					w.ObserveDelete(s.gone)
					c.ObserveDelete(types.NamespacedName{Namespace: "ns", Name: "a"}, s.gone)
				}
				if s.shown != nil {
					cached = s.shown
					w.Observe(s.shown)
				}
				now = now.Add(s.after)
				w.Expire(cached, now)
				c.Overlay(listOf(cached), now)
			}
			if got := text(w.Stored(cached)); got != test.write {
				t.Errorf("the write: %q is stored, want %q", got, test.write)
			}
			got := ""
			for _, object := range c.Overlay(listOf(cached), now) {
				got += text(object)
			}
			if got != test.cache {
				t.Errorf("the cache: %q is stored, want %q", got, test.cache)
			}
			if pending := w.pending || w.deleted != ""; c.Len() > 0 != pending {
				t.Errorf("the cache holds %d writes, though the write is pending: %t", c.Len(), pending)
			}
		})
	}
}

func listOf(cached *object) []*object {
	if cached == nil {
		return nil
	}
	return []*object{cached}
}

func text(o *object) string {
	switch {
	case o == nil:
		return ""
	case o.DeletionTimestamp != nil:
		return string(o.UID) + "/" + o.ResourceVersion + " terminating"
	default:
		return string(o.UID) + "/" + o.ResourceVersion
	}
}

// TestExpireReportsOnce has a write that the informer never shows.
func TestExpireReportsOnce(t *testing.T) {
	var w Write[*object]
	w.Set(at("u", 5), nil, start)
	for i, want := range []bool{false, true, false} {
		if got := w.Expire(nil, start.Add(Timeout+time.Duration(i))); got != want {
			t.Errorf("%d: expired %t, want %t", i, got, want)
		}
	}
	if w.Get() == nil || !w.Changed(nil) {
		t.Error("the write is forgotten, so that its loss is no change")
	}
}

// TestChangesOfOtherClients follows one object after a write.
func TestChangesOfOtherClients(t *testing.T) {
	var w Write[*object]
	w.Set(at("u", 5), nil, start)
	check := func(cached *object, want bool) {
		t.Helper()
		if cached != nil {
			w.Observe(cached)
		}
		if got := w.Changed(cached); got != want {
			t.Errorf("changed %t at %q, want %t", got, text(cached), want)
		}
	}
	check(nil, false)
	check(at("u", 4), false)
	check(at("u", 5), false)
	check(at("u", 6), true)
	w.Accept(at("u", 6))
	check(at("u", 6), false)
	w.ObserveDelete("u")
	check(nil, true)
	w.Reset()
	check(nil, false)
}

// TestTheCacheOfOneObject has no list: the informer always has the object.
func TestTheCacheOfOneObject(t *testing.T) {
	var c Cache[*object]
	c.Set(at("u", 20), start)
	for _, test := range []struct{ cached, want *object }{
		{at("u", 9), at("u", 20)},
		{at("u", 21), at("u", 21)},
		{at("u", 9), at("u", 9)},
	} {
		if got := c.Latest(test.cached); text(got) != text(test.want) {
			t.Errorf("%s is stored while the informer has %s, want %s", text(got), text(test.cached), text(test.want))
		}
	}
	c.Set(at("u", 30), start)
	if got := c.Latest(at("v", 22)); text(got) != "v/22" || c.Len() > 0 {
		t.Errorf("%s is stored and %d writes are held, want the other object", text(got), c.Len())
	}
}

// TestOverlayIsOrdered has objects in the informer and written ones.
func TestOverlayIsOrdered(t *testing.T) {
	var c Cache[*object]
	named := func(namespace, name string) *object {
		out := at("u-"+name, 1)
		out.Namespace, out.Name = namespace, name
		return out
	}
	c.Set(named("n1", "b"), start)
	c.Set(named("n0", "z"), start)
	var got []string
	for _, o := range c.Overlay([]*object{named("n1", "c"), named("n1", "a")}, start) {
		got = append(got, o.Namespace+"/"+o.Name)
	}
	if want := []string{"n0/z", "n1/a", "n1/b", "n1/c"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestConcurrentUse writes, reads and observes at the same time.
func TestConcurrentUse(t *testing.T) {
	var c Cache[*object]
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 200 {
				c.Set(at("u", 2*i), start)
				c.Delete(types.NamespacedName{Namespace: "ns", Name: "a"}, "u")
			}
		})
		all.Go(func() {
			for i := range 200 {
				c.Latest(at("u", 2*i+1))
				c.Overlay([]*object{at("u", i)}, start)
				c.ObserveDelete(types.NamespacedName{Namespace: "ns", Name: "a"}, "u")
			}
		})
	}
	all.Wait()
	if c.Overlay(nil, start.Add(time.Hour)); c.Len() > 0 {
		t.Errorf("%d writes are held", c.Len())
	}
}
