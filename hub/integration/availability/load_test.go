package availability

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1 "github.com/berth-project/berth/api/work/v1"
)

// deniedByBerth is in the response to a request that the webhooks refuse.
const deniedByBerth = "admission webhook"

// load is clients that write all the time, and what became of their requests.
type load struct {
	*installation
	stop    context.CancelFunc
	running sync.WaitGroup
	slots   chan struct{}
	// changing keeps the changes of each placement in order.
	changing [placements]sync.Mutex

	mu sync.Mutex
	// wanted is how many clusters each placement shall have.
	wanted map[string]int
	// admitted, refused and changed count requests with the right outcome; retried those that needed another attempt.
	admitted, refused, changed, retried int
	// faults are requests with a wrong outcome, and decisions that moved.
	faults []string
	// decided is when a slice was written last, and writes how often.
	decided time.Time
	writes  int
}

// startLoad starts the load, and the watch of what is decided.
func (i *installation) startLoad() *load {
	i.t.Helper()
	ctx, cancel := context.WithCancel(i.t.Context())
	l := &load{installation: i, stop: cancel, slots: make(chan struct{}, maxInFlight), wanted: map[string]int{}}
	for number := range placements {
		l.wanted[placementName(number)] = 1
	}
	l.watchDecisions(ctx)
	l.repeat(ctx, time.Second/admissions, l.admit)
	l.repeat(ctx, time.Second/changes, l.change)
	i.t.Cleanup(l.end)
	return l
}

// end stops the load and waits for its last requests.
func (l *load) end() {
	l.stop()
	l.running.Wait()
}

// repeat starts an action at a rate, and many at once where they are slow. The number of requests in flight is bounded.
func (l *load) repeat(ctx context.Context, period time.Duration, action func(count int)) {
	l.running.Go(func() {
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		for count := 0; ; count++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			select {
			case l.slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			l.running.Go(func() {
				defer func() { <-l.slots }()
				action(count)
			})
		}
	})
}

// admit sends one request that the webhooks review, in a dry run: in turn each kind, and a placement that they must refuse.
func (l *load) admit(count int) {
	name := fmt.Sprintf("dry-%d", count)
	meta := metav1.ObjectMeta{Namespace: l.namespace, Name: name}
	work := &workv1.ManifestWork{ObjectMeta: meta}
	work.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"settings"}}`)}}}
	objects := []client.Object{
		l.placement(name), l.wrongPlacement(), work,
		&clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "default"}, Spec: clusterv1beta2.ManagedClusterSetBindingSpec{ClusterSet: "default"}},
		&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}},
	}
	object := objects[count%len(objects)]
	placement, _ := object.(*clusterv1beta1.Placement)
	mustFail := placement != nil && placement.Name == "wrong"
	again, err := attempt(func() error {
		return l.Create(l.t.Context(), object.DeepCopyObject().(client.Object), client.DryRunAll)
	})
	l.record(again, fmt.Sprintf("%T %s", object, name), func() error {
		switch {
		case mustFail && err != nil && strings.Contains(err.Error(), deniedByBerth):
			l.refused++
			return nil
		case mustFail:
			return fmt.Errorf("it must be refused by the webhooks: %w", errors.Join(errors.New("it was not"), err))
		default:
			l.admitted++
			return err
		}
	})
}

// change stores how many clusters a placement wants. The placements change in turn.
func (l *load) change(count int) {
	const step = 7 // without a common divisor, so that every number comes
	name, number := placementName(count%placements), 1+count*step%(clusters-1)
	l.changing[count%placements].Lock()
	defer l.changing[count%placements].Unlock()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"numberOfClusters":%d}}`, number))
	again, err := attempt(func() error { return l.Patch(l.t.Context(), l.placement(name), patch) })
	l.record(again, "the change of placement "+name, func() error {
		if err == nil {
			l.changed++
			l.wanted[name] = number
		}
		return err
	})
}

// attempt sends a request, and again where a webhook was not reached, as controllers and people do.
func attempt(send func() error) (again int, err error) {
	for again = 0; ; again++ {
		err = send()
		if err == nil || !strings.Contains(err.Error(), "failed calling webhook") || again == attempts-1 {
			return again, err
		}
	}
}

// record counts a request.
func (l *load) record(again int, what string, outcome func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retried += min(again, 1)
	if err := outcome(); err != nil {
		l.faults = append(l.faults, fmt.Sprintf("%s: %v", what, err))
	}
}

// watchDecisions records when slices are written. A write that both adds and removes clusters moves a decision: the placements only ever
// want more clusters or fewer.
func (l *load) watchDecisions(ctx context.Context) {
	l.t.Helper()
	watched, err := l.Watch(ctx, &clusterv1beta1.PlacementDecisionList{}, client.InNamespace(l.namespace))
	if err != nil {
		l.t.Fatal(err)
	}
	l.running.Go(func() {
		defer watched.Stop()
		before := map[string]map[string]bool{}
		for event := range watched.ResultChan() {
			slice, ok := event.Object.(*clusterv1beta1.PlacementDecision)
			if !ok {
				continue
			}
			now := map[string]bool{}
			for _, decision := range slice.Status.Decisions {
				now[decision.ClusterName] = true
			}
			l.recordSlice(slice.Name, before[slice.Name], now)
			before[slice.Name] = now
		}
	})
}

func (l *load) recordSlice(name string, before, now map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before != nil {
		l.decided = time.Now()
		l.writes++
	}
	added, removed := without(now, before), without(before, now)
	if len(added) > 0 && len(removed) > 0 {
		l.faults = append(l.faults, fmt.Sprintf("decisions of %s moved from %v to %v", name, removed, added))
	}
}

// without returns the names of one set that another lacks.
func without(set, other map[string]bool) []string {
	return slices.Sorted(maps.Keys(maps.Collect(func(yield func(string, bool) bool) {
		for name := range set {
			if !other[name] && !yield(name, true) {
				return
			}
		}
	})))
}

// totals are the counts of the load at an instant.
type totals struct{ admitted, refused, changed, retried, writes int }

func (l *load) totals() totals {
	l.mu.Lock()
	defer l.mu.Unlock()
	return totals{l.admitted, l.refused, l.changed, l.retried, l.writes}
}

// awaitMore waits until the load has sent so many more requests, and the managers have decided more.
func (l *load) awaitMore(requests int) {
	l.t.Helper()
	before := l.totals()
	eventually(l.t, func() error {
		now := l.totals()
		if now.admitted < before.admitted+requests || now.writes < before.writes+requests/10 {
			return fmt.Errorf("%+v, before %+v", now, before)
		}
		return nil
	})
}

// checkFaults reports the first faults.
func (l *load) checkFaults(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, fault := range l.faults[:min(len(l.faults), maxErrors)] {
		t.Error(fault)
	}
	if len(l.faults) > maxErrors {
		t.Errorf("and %d more faults", len(l.faults)-maxErrors)
	}
}
