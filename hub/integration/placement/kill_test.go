//go:build slow

package placement

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// position is the position of a cluster: the slice and the name of its group.
type position struct{ slice, group string }

func (f *fleet) positions(placement string) map[string][]position {
	f.t.Helper()
	stored := kit.Must(f.slices(f.t.Context(), placement)).In(f.t)
	out := map[string][]position{}
	for _, slice := range stored {
		for _, decision := range slice.Status.Decisions {
			at := position{slice.Name, slice.Labels[clusterv1beta1.DecisionGroupNameLabel]}
			out[decision.ClusterName] = append(out[decision.ClusterName], at)
		}
	}
	return out
}

// TestKilledInTheMiddleOfWrites kills the manager at each write in turn, and starts a new manager. Half of the writes are stored. A
// stored cluster keeps its position, and readers always see every cluster. At the end, another manager writes nothing.
func TestKilledInTheMiddleOfWrites(t *testing.T) {
	const clusters, narrow = 230, 8
	awaitGarbageCollected(t) // decisions of earlier tests affect Balance, and so the number of writes
	f := newFleet(t, 0)
	for i := range clusters {
		f.join(i, "ring", fmt.Sprint(i%4))
	}
	wide := f.placement("wide", func(spec *clusterv1beta1.PlacementSpec) { spec.DecisionStrategy.GroupStrategy = groupStrategies()[0] })
	for i := range narrow {
		f.placement(fmt.Sprintf("narrow-%d", i), kit.Number(int32(3+i)))
	}
	first := start(t, options{})
	f.awaitSelected("wide", f.upTo(clusters)...)
	awaitFixedPoint(t)
	first.Stop()

	reader := &sliceReader{placement: "wide", always: f.upTo(clusters)[50:], limit: 2 * clusters}
	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { reader.follow(ctx, f) })
	t.Cleanup(func() { stop(); following.Wait() })

	killed := 0
	for round, at := range []int{1, 2, 6, 3, 4, 9, 1, 2, 12, 3} {
		regroup := round%3 == 2
		f.changeFleet(round, regroup, wide)
		if f.killAt(at, round%2 == 0) {
			killed++
		} else {
			t.Logf("round %d: the manager sent fewer than %d writes", round, at)
		}
		left := f.positions("wide")
		next := start(t, options{})
		awaitFixedPoint(t)
		next.Stop()
		if !regroup {
			for name, now := range f.positions("wide") {
				if before := left[name]; len(before) > 0 && !slices.Contains(before, now[0]) {
					t.Errorf("round %d: %s was in %v when the manager was killed, and is in %v", round, name, before, now)
				}
			}
		}
	}
	if killed < 7 {
		t.Errorf("only %d managers were killed in the middle of writes", killed)
	}
	stop()
	following.Wait()
	for _, problem := range reader.broken {
		t.Error(problem)
	}
	if reader.count() < 10 {
		t.Errorf("the slices were listed only %d times", reader.count())
	}

	awaitGarbageCollected(t)
	before := writes(t)
	last := start(t, options{})
	read := last.idle(t, narrow+1)
	if got := read.Sum("berth_placement_evaluations_total", `outcome="unchanged"`); got != narrow+1 {
		t.Errorf("after a restart %v placements are unchanged, want all %d", got, narrow+1)
	}
	if diff := cmp.Diff(before, writes(t)); diff != "" {
		t.Errorf("a restart on a settled hub wrote (-before +after):\n%s", diff)
	}
}

// changeFleet changes the fleet so that the manager must write every placement. It deletes, taints and restores some of the first
// fifty clusters.
func (f *fleet) changeFleet(round int, regroup bool, wide *clusterv1beta1.Placement) {
	f.t.Helper()
	for i := range 4 {
		at := (round*4 + i) % 40
		change(f, f.cluster(at), func(c *clusterv1.ManagedCluster) { toggle(c) })
	}
	f.MustDelete(f.cluster(40 + round))
	f.MustCreate(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-0000-%d", f.namespace, round), Labels: f.cluster(0).Labels,
	}})
	if regroup {
		change(f, wide, func(p *clusterv1beta1.Placement) {
			p.Spec.DecisionStrategy.GroupStrategy = groupStrategies()[1+round%5]
			if round%2 == 0 {
				p.Spec.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup = intstr.FromInt32(int32(20 + round))
			}
		})
	}
}

// killAt starts a manager, kills it at its n-th write, and waits for its end. The write is stored or lost. Ok is false if the manager
// sent fewer writes.
func (f *fleet) killAt(n int, carriedOut bool) (ok bool) {
	f.t.Helper()
	p, kubeconfig := newProxy(f.t)
	due, ended := make(chan struct{}), make(chan struct{})
	var seen atomic.Int32
	p.setRule(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		if !isWrite(r.Method, r.URL.Path) {
			forward.ServeHTTP(w, r)
			return
		}
		switch mine := int(seen.Add(1)); {
		case mine < n:
			forward.ServeHTTP(w, r)
		case mine == n:
			if carriedOut {
				forwardOnly(r, forward)
			}
			close(due)
			<-ended
		default:
			<-ended // concurrent writes of other workers are lost
		}
	})
	m := start(f.t, options{Kubeconfig: kubeconfig})
	defer close(ended)
	defer m.Kill()
	f.Await("its end", func(ctx context.Context) error {
		select {
		case <-due:
			ok = true
			return nil
		default:
		}
		read, err := m.ReadMetrics(ctx)
		if err != nil {
			return err
		}
		if read.Sum("berth_placement_evaluations_total") == 0 || read.Sum("workqueue_depth")+read.Sum("controller_runtime_active_workers") > 0 {
			return fmt.Errorf("%d of %d writes sent", seen.Load(), n)
		}
		return nil
	})
	return ok
}
