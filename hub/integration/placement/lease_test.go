package placement

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/hub/hubtest"
)

// TestAKilledHubTakesItsLeaseBack kills a hub with a manager in it and starts it again. The manager does not wait for
// the lease of the killed one to run out: it holds it under the same name, so that it never changed hands.
func TestAKilledHubTakesItsLeaseBack(t *testing.T) {
	alone(t)
	data := filepath.Join(t.TempDir(), "data")
	first := wholeHub(t, data)
	held := lease(t, first, nil)
	if got := *held.Spec.HolderIdentity; got != "berth-hub" {
		t.Errorf("the lease is held by %q, want berth-hub", got)
	}
	first.Kill()

	again := lease(t, wholeHub(t, data), held.Spec.RenewTime)
	if *again.Spec.HolderIdentity != "berth-hub" || *again.Spec.LeaseTransitions != *held.Spec.LeaseTransitions || !again.Spec.AcquireTime.Equal(held.Spec.AcquireTime) {
		t.Errorf("the lease changed hands: it was %+v and is %+v", held.Spec, again.Spec)
	}
}

// wholeHub starts a hub with its manager in it, as a user would.
func wholeHub(t *testing.T, data string) *hubtest.Hub {
	t.Helper()
	return hubtest.New(t, hubtest.Options{DataDir: data, Manager: true, Args: []string{"--unsafe-no-fsync"}})
}

// lease waits until the manager's lease was renewed later than some time and returns it.
func lease(t *testing.T, hub *hubtest.Hub, after *metav1.MicroTime) *coordinationv1.Lease {
	t.Helper()
	var out *coordinationv1.Lease
	hubtest.Eventually(t, soon, func(ctx context.Context) error {
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
