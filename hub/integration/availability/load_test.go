//go:build slow

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

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// deniedByBerth is in the response to a request that the webhooks refuse.
const deniedByBerth = "admission webhook"

var errNotRefused = errors.New("the webhooks do not refuse it")

// load is clients that write all the time, and what the managers decide.
type load struct {
	*installation
	*hubtest.Load

	// changing keeps the changes of each placement in order.
	changing [placements]sync.Mutex

	mu sync.Mutex
	// wanted is how many clusters each placement shall have.
	wanted map[string]int
	// admitted, refused and changed count requests with the right outcome.
	admitted, refused, changed int
	// moved are decisions that moved.
	moved []string
	// decided is when a slice was written last, and writes how often.
	decided time.Time
	writes  int
}

// startLoad starts the load, and the watch of what is decided.
func (i *installation) startLoad() *load {
	i.t.Helper()
	l := &load{
		installation: i, wanted: map[string]int{},
		Load: hubtest.NewLoad(i.t, hubtest.LoadOptions{InFlight: maxInFlight, Timeout: testTimeout, Repeats: repeats}),
	}
	for number := range placements {
		l.wanted[placementName(number)] = 1
	}
	l.watchDecisions()
	l.Send(admissions, l.admit)
	l.Send(changes, l.change)
	return l
}

// admit sends one request that the webhooks review, in a dry run: in turn each kind, and a placement that they must refuse.
func (l *load) admit(ctx context.Context, count int) error {
	name := fmt.Sprintf("dry-%d", count)
	meta := metav1.ObjectMeta{Namespace: l.namespace, Name: name}
	work := &workv1.ManifestWork{ObjectMeta: meta}
	work.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"settings"}}`),
	}}}
	objects := []client.Object{
		l.placement(name), l.wrongPlacement(), work,
		kit.Binding(l.namespace, "default"),
		kit.Cluster(name),
	}
	object := objects[count%len(objects)]
	placement, _ := object.(*clusterv1beta1.Placement)
	mustFail := placement != nil && placement.Name == "wrong"
	err := l.Create(ctx, object, client.DryRunAll)
	if mustFail && err == nil {
		err = errNotRefused
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case mustFail && strings.Contains(err.Error(), deniedByBerth):
		l.refused++
		return nil
	case err != nil:
		return fmt.Errorf("%T %s: %w", object, name, err)
	default:
		l.admitted++
		return nil
	}
}

// change stores how many clusters a placement wants. The placements change in turn.
func (l *load) change(ctx context.Context, count int) error {
	const step = 7 // without a common divisor, so that every number comes
	name, number := placementName(count%placements), 1+count*step%(clusters-1)
	l.changing[count%placements].Lock()
	defer l.changing[count%placements].Unlock()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"numberOfClusters":%d}}`, number))
	if err := l.Patch(ctx, l.placement(name), patch); err != nil {
		return fmt.Errorf("the change of placement %s: %w", name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed++
	l.wanted[name] = number
	return nil
}

// watchDecisions records when slices are written. A write that both adds and removes clusters moves a decision: the placements only ever
// want more clusters or fewer.
func (l *load) watchDecisions() {
	l.t.Helper()
	watched := kit.Must(l.Watch(l.t.Context(), &clusterv1beta1.PlacementDecisionList{}, client.InNamespace(l.namespace))).In(l.t)
	l.Run(func(ctx context.Context) {
		context.AfterFunc(ctx, watched.Stop)
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
		l.moved = append(l.moved, fmt.Sprintf("decisions of %s moved from %v to %v", name, removed, added))
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
	retried := l.Counts().Repeated.Count
	l.mu.Lock()
	defer l.mu.Unlock()
	return totals{l.admitted, l.refused, l.changed, retried, l.writes}
}

// awaitMore waits until the load has sent so many more requests, and the managers have decided more.
func (l *load) awaitMore(requests int) {
	l.t.Helper()
	before := l.totals()
	kit.Await(l.t, "the load has sent its requests", func(context.Context) error {
		now := l.totals()
		if now.admitted < before.admitted+requests || now.writes < before.writes+requests/10 {
			return fmt.Errorf("%+v, before %+v", now, before)
		}
		return nil
	})
}

// checkFaults reports the requests with a wrong outcome, and the decisions that moved.
func (l *load) checkFaults(t *testing.T) {
	t.Helper()
	counts := l.Counts()
	if counts.Lost.Count > 0 {
		t.Errorf("lost requests: %s", counts.Lost)
	}
	if counts.Unreachable.Count > 0 {
		t.Errorf("requests that did not reach the API server: %s", counts.Unreachable)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.moved) > 0 {
		t.Errorf("%d decisions moved, such as\n%s", len(l.moved), strings.Join(l.moved[:min(len(l.moved), maxErrors)], "\n"))
	}
}
