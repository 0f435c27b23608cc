//go:build slow

package placement

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestKilledHubKeepsItsLease kills a hub with a manager in it and starts it again. The new manager has the same holder name, so it does
// not wait for the lease to expire.
func TestKilledHubKeepsItsLease(t *testing.T) {
	steady.Stop(t)
	data := filepath.Join(t.TempDir(), "data")
	first := newHubWithManager(t, data)
	held := awaitLease(t, first, nil)
	if got := *held.Spec.HolderIdentity; got != "berth-hub" {
		t.Errorf("the lease is held by %q, want berth-hub", got)
	}
	first.Kill()

	again := awaitLease(t, newHubWithManager(t, data), held.Spec.RenewTime)
	if *again.Spec.HolderIdentity != "berth-hub" || *again.Spec.LeaseTransitions != *held.Spec.LeaseTransitions ||
		!again.Spec.AcquireTime.Equal(held.Spec.AcquireTime) {
		t.Errorf("the lease changed hands: it was %+v and is %+v", held.Spec, again.Spec)
	}
}

// newHubWithManager starts a hub with its manager in it, as a user would.
func newHubWithManager(t *testing.T, data string, args ...string) *hubtest.Hub {
	t.Helper()
	return hubtest.New(t, hubtest.Options{DataDir: data, Manager: true, Args: append(args, "--unsafe-no-fsync")})
}

// TestHubContinuesAfterLosingItsLease gives the lease of the manager in a hub to another holder, twice. In that time the hub decides
// nothing, and serves its webhooks, views and metrics. It decides again once the lease is free.
func TestHubContinuesAfterLosingItsLease(t *testing.T) {
	steady.Stop(t)
	metrics := hubtest.FreeAddress(t)
	hub := newHubWithManager(t, filepath.Join(t.TempDir(), "data"), "--metrics-bind-address="+metrics, "--metrics-secure=false")
	f := newFleetOn(t, hub, 2)
	f.placement("before", kit.Number(2))
	f.awaitSelected("before", f.upTo(2)...)
	for round := range 2 {
		holdLease(t, hub, "another")
		kit.Await(t, "the manager of the hub has restarted", func(context.Context) error { return checkRestarts(hub, round+1) })
		wrong := kit.Placement(f.namespace, "wrong")
		expression(`managedCluster.metadata.name ==`)(&wrong.Spec)
		kit.Await(t, "the webhooks check placements again", func(ctx context.Context) error {
			err := f.Create(ctx, wrong.DeepCopy())
			if err == nil {
				t.Fatal("a wrong placement was stored, want the webhook to refuse it")
			}
			if !strings.Contains(err.Error(), "compilation failed") {
				return err
			}
			return nil
		})
		name := fmt.Sprintf("meanwhile-%d", round)
		f.placement(name, kit.Number(2))
		kit.Await(t, "the views are served again", func(context.Context) error {
			_, err := hub.Client(t).Discovery().ServerResourcesForGroupVersion("view.cluster.open-cluster-management.io/v1")
			return err
		})
		var slices clusterv1beta1.PlacementDecisionList
		if err := f.List(t.Context(), &slices, client.InNamespace(f.namespace),
			client.MatchingLabels{clusterv1beta1.PlacementLabel: name}); err != nil || len(slices.Items) > 0 {
			t.Errorf("%d slices, %v: decided without the lease", len(slices.Items), err)
		}
		holdLease(t, hub, "")
		f.awaitSelected(name, f.upTo(2)...)
		kit.Await(t, "the metrics have the placements", func(ctx context.Context) error {
			measured, err := (&hubtest.Manager{MetricsAddress: metrics}).ReadMetrics(ctx)
			if err == nil && measured.Sum("berth_placements") == 0 {
				err = errors.New("the metrics have no placements")
			}
			return err
		})
	}
	if got := *awaitLease(t, hub, nil).Spec.HolderIdentity; got != "berth-hub" {
		t.Errorf("the lease is held by %q, want berth-hub", got)
	}
}

// TestTheLeaseIsRenewedWhileCostlyPlacementsAreDecided keeps every worker busy with placements at their cost limit, for longer than the
// lease lasts. The manager renews its lease all the time.
func TestTheLeaseIsRenewedWhileCostlyPlacementsAreDecided(t *testing.T) {
	const clusters, placements = 60, 30
	f := newFleet(t, clusters)
	m := start(t, options{Args: leaderElectionArgs})
	loops := strings.Repeat("[1,2,3,4,5,6,7,8,9,10].all(x, ", 4) + "true" + strings.Repeat(")", 4)
	for n := range placements {
		f.placement(fmt.Sprintf("costly-%02d", n), expression(loops+` && managedCluster.metadata.labels["round"] != "none"`))
	}
	before := m.idle(t, placements).Sum("berth_placement_evaluations_total")
	held := awaitLease(t, shared, nil)
	renewed := 0
	for end, round := time.Now().Add(12*time.Second), 0; time.Now().Before(end); round++ {
		for n := range clusters {
			change(f, f.cluster(n), func(c *clusterv1.ManagedCluster) { c.Labels["round"] = fmt.Sprint(round) })
			now := awaitLease(t, shared, nil)
			if *now.Spec.HolderIdentity != *held.Spec.HolderIdentity || *now.Spec.LeaseTransitions != *held.Spec.LeaseTransitions {
				t.Fatalf("the lease changed hands: it was %+v and is %+v", held.Spec, now.Spec)
			}
			if held.Spec.RenewTime.Before(now.Spec.RenewTime) {
				renewed++
			}
			held = now
		}
	}
	if renewed < 3 {
		t.Errorf("the lease was seen renewed %d times in 12 s, want 3 at least", renewed)
	}
	kit.Await(t, "every placement is decided once", func(ctx context.Context) error {
		measured, err := m.ReadMetrics(ctx)
		if after := measured.Sum("berth_placement_evaluations_total"); err == nil && after-before < placements {
			err = fmt.Errorf("%v evaluations meanwhile, want each of %d placements decided at least once", after-before, placements)
		}
		return err
	})
	select {
	case <-m.Done():
		t.Errorf("the manager ended: %s", m.Tail())
	default:
	}
}

// checkRestarts returns an error unless the log of a hub contains a number of restarts of its manager, or more.
func checkRestarts(hub *hubtest.Hub, times int) error {
	log, err := os.ReadFile(filepath.Join(hub.DataDir(), "hub.log"))
	if err != nil {
		return err
	}
	if got := strings.Count(string(log), "the manager has ended, and starts again"); got < times {
		return fmt.Errorf("the manager started again %d times, want %d at least", got, times)
	}
	return nil
}

// holdLease gives the manager's lease to a holder for a long time, or removes its holder.
func holdLease(t *testing.T, hub *hubtest.Hub, holder string) {
	t.Helper()
	leases := hub.Client(t).CoordinationV1().Leases("berth-system")
	kit.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		lease, err := leases.Get(t.Context(), "berth-manager", metav1.GetOptions{})
		if err != nil {
			return err
		}
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &holder, new(int32(3600))
		_, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{})
		return err
	}))
}

// awaitLease waits until the manager's lease was renewed later than some time and returns it.
func awaitLease(t *testing.T, hub *hubtest.Hub, after *metav1.MicroTime) *coordinationv1.Lease {
	t.Helper()
	var out *coordinationv1.Lease
	kit.Await(t, "the manager's lease was renewed later than some time and returns it", func(ctx context.Context) error {
		lease, err := hub.Client(t).CoordinationV1().Leases("berth-system").Get(ctx, "berth-manager", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if renewed := lease.Spec.RenewTime; renewed == nil || after != nil && !after.Before(renewed) {
			return fmt.Errorf("last renewed at %v", renewed)
		}
		out = lease
		return nil
	})
	return out
}
