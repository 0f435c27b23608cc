package placement

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// leaderElectionArgs are the flags of a manager that waits for the lease. A silent leader loses it after ten seconds.
var leaderElectionArgs = []string{
	"--leader-elect=true", "--leader-elect-lease-duration=10s", "--leader-elect-renew-deadline=8s", "--leader-elect-retry-period=500ms",
}

// TestDeposedLeaderWritesNothing stops a leader while a write of each kind is pending. Another manager becomes the leader and writes.
// The pending writes arrive after that, and the API server refuses them all.
func TestDeposedLeaderWritesNothing(t *testing.T) {
	f := newFleet(t, 0)
	for i := range 3 {
		f.join(i, "role", "all")
	}
	names := []string{"fill", "mark", "delete", "report"}
	for _, name := range names {
		f.placement(name, func(spec *clusterv1beta1.PlacementSpec) {
			kit.Labelled("role", "all")(spec)
			kit.Labelled("role", name)(spec)
		})
	}
	p, kubeconfig := newProxy(t)
	first := start(t, options{Kubeconfig: kubeconfig, Args: leaderElectionArgs})
	for _, name := range names {
		f.awaitSelected(name, f.upTo(3)...)
	}
	launch(t, options{Args: leaderElectionArgs})

	held := p.holdWrites()
	f.join(3, "role", "fill")
	f.placement("create", kit.Labelled("role", "all"))
	change(f, f.slice("mark-decision-1"), func(d *clusterv1beta1.PlacementDecision) { delete(d.Labels, clusterv1beta1.PlacementLabel) })
	stray := f.slice("stray")
	stray.Labels = map[string]string{clusterv1beta1.PlacementLabel: "delete"}
	f.MustCreate(stray)
	changeStatus(f, kit.Placement(f.namespace, "report"),
		func(p *clusterv1beta1.Placement) { p.Status.NumberOfSelectedClusters = 77 })
	kit.Await(t, "five writes of the former leader are held", func(context.Context) error { return held.checkWaiting(5) })
	first.Signal(t, syscall.SIGSTOP)
	before := len(p.writes())

	// The second manager gets the lease only after it has expired.
	f.awaitSelected("fill", f.upTo(4)...)
	f.awaitSelected("create", f.upTo(3)...)
	awaitFixedPoint(t)

	held.release()
	kit.Await(t, "the held writes are completed", func(context.Context) error {
		if got := len(p.writes()) - before; got < 5 {
			return fmt.Errorf("%d of 5 late writes are completed", got)
		}
		return nil
	})
	want := map[string]int{
		"POST create-decision":       http.StatusConflict,
		"PUT fill-decision-1/status": http.StatusConflict,
		"PATCH mark-decision-1":      http.StatusConflict,
		"PUT report/status":          http.StatusConflict,
		"DELETE stray":               http.StatusNotFound, // the second manager has deleted it
	}
	got := map[string]int{}
	for _, c := range p.writes()[before:] {
		_, rest, _ := strings.Cut(c.path, "/placement")
		_, name, found := strings.Cut(rest, "/")
		if !found {
			name = "create-decision" // the path of a create does not name the object
		}
		got[c.method+" "+name] = c.code
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers to the deposed leader (-want +got):\n%s", diff)
	}

	first.Signal(t, syscall.SIGCONT)
	if code := first.WaitExit(t); code == 0 {
		t.Errorf("the deposed leader ended with code 0, want it to fail:\n%s", first.Tail())
	}
	for _, c := range p.writes()[before:] {
		if c.code < 300 {
			t.Errorf("the deposed leader wrote: %+v", c)
		}
	}
	awaitFixedPoint(t)
	f.join(4, "role", "all")
	f.awaitSelected("mark", append(f.upTo(3), f.name(4))...)
}

func (f *fleet) slice(name string) *clusterv1beta1.PlacementDecision {
	return &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
}

// holdWrites delays every later write until it is released. It does not delay writes to leases and events.
func (p *proxy) holdWrites() *writeGate {
	g := &writeGate{open: make(chan struct{})}
	p.setRule(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		if !isWrite(r.Method, r.URL.Path) {
			forward.ServeHTTP(w, r)
			return
		}
		g.mu.Lock()
		g.waiting++
		g.mu.Unlock()
		<-g.open
		forward.ServeHTTP(w, r.WithContext(context.WithoutCancel(r.Context())))
	})
	return g
}

type writeGate struct {
	mu      sync.Mutex
	waiting int
	open    chan struct{}
}

func (g *writeGate) checkWaiting(want int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting < want {
		return fmt.Errorf("%d of %d writes are pending", g.waiting, want)
	}
	return nil
}

func (g *writeGate) release() { close(g.open) }
