package placement

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berth-project/berth/hub/hubtest"
)

// TestAKilledHubTakesItsLeaseBack kills a hub with a manager in it and starts it again. The manager does not wait for
// the lease of the killed one to run out: it holds it under the same name, so that it never changed hands.
func TestAKilledHubTakesItsLeaseBack(t *testing.T) {
	alone(t)
	data := filepath.Join(t.TempDir(), "data")
	first := wholeHub(t, data)
	held := first.lease(t, nil)
	if got := *held.Spec.HolderIdentity; got != "berth-hub" {
		t.Errorf("the lease is held by %q, want berth-hub", got)
	}
	first.kill()

	second := wholeHub(t, data)
	again := second.lease(t, held.Spec.RenewTime)
	if *again.Spec.HolderIdentity != "berth-hub" || *again.Spec.LeaseTransitions != *held.Spec.LeaseTransitions || !again.Spec.AcquireTime.Equal(held.Spec.AcquireTime) {
		t.Errorf("the lease changed hands: it was %+v and is %+v", held.Spec, again.Spec)
	}
}

// wholeHub starts a berth-hub with its manager, as a user would, and waits until it is ready.
func wholeHub(t *testing.T, data string) *hubProcess {
	t.Helper()
	binary, err := hubtest.Binary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := &hubProcess{manager: manager{log: &journal{}, done: make(chan struct{})}}
	h.command = exec.Command(binary, "--data-dir="+data, "--unsafe-no-fsync", "--stop-with-stdin")
	h.command.Stdout, h.command.Stderr = h.log, h.log
	h.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if h.stdin, err = h.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := h.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(h.done)
		_ = h.command.Wait()
	}()
	t.Cleanup(h.kill)
	hubtest.Eventually(t, soon, func(context.Context) error {
		select {
		case <-h.done:
			t.Fatalf("the hub ended: %s", h.log)
		default:
		}
		if !strings.Contains(h.log.String(), "export KUBECONFIG=") {
			return fmt.Errorf("not ready: %s", h.log)
		}
		return nil
	})
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(data, "admin.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	if h.client, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	return h
}

type hubProcess struct {
	manager
	stdin  io.Closer
	client kubernetes.Interface
}

// lease waits until the manager's lease was renewed later than some time and returns it.
func (h *hubProcess) lease(t *testing.T, after *metav1.MicroTime) *coordinationv1.Lease {
	t.Helper()
	var out *coordinationv1.Lease
	hubtest.Eventually(t, soon, func(ctx context.Context) error {
		lease, err := h.client.CoordinationV1().Leases("berth-system").Get(ctx, "berth-manager", metav1.GetOptions{})
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
