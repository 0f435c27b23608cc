package run

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/bench"
)

func TestQuantiles(t *testing.T) {
	hundred := sample{}
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i)*time.Millisecond)
	}
	cases := map[string]struct {
		sample sample
		share  float64
		want   time.Duration
	}{
		"the median of a hundred":          {hundred, 0.5, 51 * time.Millisecond},
		"the 99th percentile of a hundred": {hundred, 0.99, 100 * time.Millisecond},
		"any quantile of one value":        {sample{7}, 0.99, 7},
		"the least":                        {sample{3, 1, 2}, 0, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.sample.quantile(tc.share)); diff != "" {
				t.Errorf("quantile (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRatios(t *testing.T) {
	got := sample{3 * time.Millisecond}.ratios("a write", sample{2 * time.Millisecond})
	want := []bench.Figure{
		{Name: "a write, p50", Unit: bench.Ratio, Value: 1.5, Detail: "3.00 ms / 2.00 ms"},
		{Name: "a write, p99", Unit: bench.Ratio, Value: 1.5, Detail: "3.00 ms / 2.00 ms"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

func TestOnlySuccessIsTimed(t *testing.T) {
	errBoom := errors.New("boom")
	var s sample
	if err := s.time(func() error { return errBoom }); !errors.Is(err, errBoom) || len(s) != 0 {
		t.Errorf("error %v, %d in the sample", err, len(s))
	}
}

func TestInParallelDoesEverythingOnce(t *testing.T) {
	const count = 1000
	var done [count]atomic.Int32
	if err := inParallel(t.Context(), count, func(_ context.Context, _, i int) error { done[i].Add(1); return nil }); err != nil {
		t.Fatal(err)
	}
	for i := range done {
		if got := done[i].Load(); got != 1 {
			t.Errorf("%d was done %d times", i, got)
		}
	}
}

func TestInParallelEndsWithTheFirstError(t *testing.T) {
	errBoom := errors.New("boom")
	var done atomic.Int32
	err := inParallel(t.Context(), 1_000_000, func(_ context.Context, _, i int) error {
		done.Add(1)
		if i == 10 {
			return errBoom
		}
		return nil
	})
	if !errors.Is(err, errBoom) || done.Load() == 1_000_000 {
		t.Errorf("error %v after %d, want it to end early", err, done.Load())
	}
}

// placementAt returns a placement whose status has an observed generation. 0 is no status.
func placementAt(name string, generation, observed int64) *clusterv1beta1.Placement {
	out := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Generation: generation}}
	if observed > 0 {
		out.Status.Conditions = []metav1.Condition{{Type: clusterv1beta1.PlacementConditionSatisfied, ObservedGeneration: observed}}
	}
	return out
}

func TestDecidedReadsTheLatestGeneration(t *testing.T) {
	type event struct {
		kind   watch.EventType
		object runtime.Object
	}
	a, b := placementAt("a", 1, 0), placementAt("b", 1, 0)
	errBoom := errors.New("boom")
	cases := map[string]struct {
		events []event
		// listed is the result of the second list, after the watch has ended. nil means that there is no second list.
		listed []*clusterv1beta1.Placement
		want   error // nil: all are decided
	}{
		"both decided, in any order": {events: []event{
			{watch.Modified, placementAt("b", 1, 1)},
			{watch.Modified, placementAt("a", 2, 2)},
		}},
		"one has no status": {
			events: []event{{watch.Modified, placementAt("b", 1, 1)}, {watch.Added, placementAt("a", 1, 0)}},
			want:   errBoom,
		},
		"one status is of an older generation": {events: []event{
			{watch.Modified, placementAt("b", 1, 1)},
			{watch.Modified, placementAt("a", 2, 1)},
		}, want: errBoom},
		"another placement is decided": {events: []event{
			{watch.Modified, placementAt("b", 1, 1)},
			{watch.Modified, placementAt("c", 1, 1)},
		}, want: errBoom},
		"the watch fails": {
			events: []event{{watch.Modified, placementAt("b", 1, 1)}, {watch.Error, &metav1.Status{}}},
			want:   errBoom,
		},
		"the watch fails, and a second list has the rest": {
			events: []event{{watch.Modified, placementAt("b", 1, 1)}, {watch.Error, &metav1.Status{}}},
			listed: []*clusterv1beta1.Placement{placementAt("a", 1, 1)},
		},
		"the watches end again and again": {listed: []*clusterv1beta1.Placement{placementAt("a", 1, 1)}, want: errWatch},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			events := watch.NewFakeWithChanSize(len(tc.events), false)
			for _, event := range tc.events {
				events.Action(event.kind, event.object)
			}
			events.Stop()
			again := func(context.Context) ([]clusterv1beta1.Placement, watch.Interface, error) {
				ended := watch.NewFake()
				ended.Stop()
				if tc.listed == nil {
					return nil, ended, errBoom
				}
				return []clusterv1beta1.Placement{*tc.listed[0]}, ended, nil
			}
			if err := (&decisionWatcher{again, events}).awaitDecided(t.Context(), a, b); !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
		})
	}
}

func TestEveryRunHasAUniqueName(t *testing.T) {
	known := map[string]bool{}
	for _, r := range Available() {
		if r.Name == "" || r.About == "" || known[r.Name] {
			t.Errorf("run %q, about %q", r.Name, r.About)
		}
		known[r.Name] = true
	}
}

func TestSizeRunOfAnySize(t *testing.T) {
	for name, want := range map[string]bool{
		"webhook": true, "soak": true, "1000x10000": true, "300x200": true, "100x100": true,
		"works-1000x10": true, "works-200x3": true, "works-99x3": false, "works-1000x101": false, "works-200": false, "works-x": false,
		"agent": true, "scores": true, "scores-500": true, "scores-99": false, "scores-x": false,
		"addons": true, "addons-500": true, "addons-99": false, "addons-x": false,
		"99x100": false, "100x100001": false, "x": false, "300": false, "300x": false, "300x200x100": false, "wormhole": false,
	} {
		if got, ok := Find(name); ok != want || ok && got.Name != name {
			t.Errorf("%q: run %q, %t, want one: %t", name, got.Name, ok, want)
		}
	}
}

func TestLabelAgentsNameEveryPermissionOnce(t *testing.T) {
	for _, h := range labelAgents() {
		known := map[string]bool{"*": true} // checked for every user
		for _, name := range h.names {
			known[name] = true
		}
		if got := fmt.Sprint(len(known)); got != fmt.Sprint(h.permissions) {
			t.Errorf("%s: %s rights, want %v", h.name, got, h.permissions)
		}
	}
}

func TestWritesThatChangeSomething(t *testing.T) {
	slice := func(label string, clusters ...string) objectVersion {
		out := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"l": label}}}
		for _, name := range clusters {
			out.Status.Decisions = append(out.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: name})
		}
		return objectVersion{object: out}
	}
	status := func(selected int32) objectVersion {
		return objectVersion{object: &clusterv1beta1.Placement{Status: clusterv1beta1.PlacementStatus{NumberOfSelectedClusters: selected}}}
	}
	gone := slice("a", "c")
	gone.deleted = true
	cases := map[string]struct {
		versions []objectVersion
		want     int
	}{
		"none":                                {},
		"a slice that is created and filled":  {[]objectVersion{slice("a"), slice("a", "c")}, 2},
		"the same clusters again":             {[]objectVersion{slice("a", "c"), slice("a", "c")}, 1},
		"another label":                       {[]objectVersion{slice("a", "c"), slice("b", "c")}, 2},
		"a slice that is deleted":             {[]objectVersion{slice("a", "c"), gone}, 2},
		"a status, the same status, and back": {[]objectVersion{status(1), status(1), status(2), status(1)}, 3},
		"an event, which does not count":      {[]objectVersion{{object: &eventsv1.Event{}}}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := effectiveWrites(map[objectKey][]objectVersion{{kind: sliceKind}: tc.versions})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}
