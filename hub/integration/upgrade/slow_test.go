//go:build slow

package upgrade

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestAnInterruptedTakeoverIsContinued has a pod that does not end. The record keeps the replicas from before the first attempt.
func TestAnInterruptedTakeoverIsContinued(t *testing.T) {
	h := newOCMHub(t)
	pod := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{
			"name": "stuck", "namespace": controllersNamespace,
			"labels": map[string]any{"app": "ocm"},
		},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "c"}}, "automountServiceAccountToken": false},
	}}
	in := h.to.Resource(pods).Namespace(controllersNamespace)
	kit.Must(in.Create(t.Context(), pod, metav1.CreateOptions{})).In(t)
	h.expect(2, []string{"its pods have not ended: 1 are left"}, "takeover", "--yes", "--timeout=1s")
	h.expect(2, []string{"the takeover was interrupted"}, "takeover", "verify")
	t.Log("a repeated command waits for the same pod")
	h.expect(2, []string{"its pods have not ended: 1 are left"}, "takeover", "--yes", "--timeout=1s")
	h.expect(2, []string{"the takeover was interrupted"}, "takeover", "verify")
	got := h.replicas()
	if got["cluster-manager"] != 0 || got["cluster-manager-placement-controller"] != 0 || got[workController] != 3 {
		t.Fatalf("the controllers after the stuck one are off: %v", got)
	}
	for _, name := range []string{"cluster-manager-registration-controller", workController} {
		patch(t, h.to.Resource(deployments).Namespace(controllersNamespace), name, `{"spec":{"replicas":0}}`)
	}
	h.expect(0, []string{"A takeover was interrupted: add --yes to continue it"}, "takeover")
	h.expect(2, []string{"its pods have not ended: 1 are left"}, "takeover", "--yes", "--timeout=1s")
	kit.NoError(t, in.Delete(t.Context(), "stuck", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	h.expect(0, []string{"2 decisions and 2 works recorded"}, "takeover", "--yes")
	h.requireReplicas(0)

	t.Log("a controller runs again and moves a decision: a second takeover records what it left")
	const again = "cluster-manager-placement-controller"
	patch(t, h.to.Resource(deployments).Namespace(controllersNamespace), again, `{"spec":{"replicas":2}}`)
	moved, err := h.to.Resource(decisions).Namespace("shop").List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil || len(moved.Items) == 0 {
		t.Fatal(len(moved.Items), err)
	}
	if _, err := h.to.Resource(decisions).Namespace("shop").Patch(t.Context(), moved.Items[0].GetName(), types.MergePatchType,
		[]byte(`{"status":{"decisions":[]}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	h.expect(1, []string{"1 moved"}, "takeover", "verify", "--timeout=1s")
	h.expect(0, []string{again + ": scaled from 2 to 0", "2 decisions and 2 works recorded"}, "takeover", "--yes")
	h.expect(1, []string{"0 moved"}, "takeover", "verify", "--timeout=1s")

	t.Log("a controller is gone: the others are turned on")
	kit.NoError(t, h.to.Resource(deployments).Namespace(controllersNamespace).Delete(t.Context(), workController, metav1.DeleteOptions{}))
	h.expect(0, []string{workController + ": it is gone, and is not turned on", "cluster-manager: scaled to 3"}, "takeover", "undo", "--yes")
	want := map[string]int64{"cluster-manager": 3, again: 2, "cluster-manager-registration-controller": 3}
	if diff := cmp.Diff(want, h.replicas()); diff != "" {
		t.Errorf("replicas (-want +got):\n%s", diff)
	}
	if h.hasRecord() {
		t.Error("the record is left")
	}
}

// TestAHubWithoutOCMIsNotTakenOver has nothing to turn off, and no namespace for a record.
func TestAHubWithoutOCMIsNotTakenOver(t *testing.T) {
	h := ocmHub{T: t, hub: hubtest.New(t, hubtest.Options{})}
	h.to = newClient(t, h.hub)
	for _, args := range [][]string{{"takeover"}, {"takeover", "--yes"}} {
		h.expect(0, []string{"Everything that conflicts with Berth is off"}, args...)
	}
	h.expect(2, []string{"this hub has no record of a takeover"}, "takeover", "undo", "--yes")
}

// TestATakeoverFromOpenClusterManagementEvictsNothing runs the controllers of Open Cluster Management on a hub, as far as the hub sees
// them, does what preflight prints, and starts a manager that registers clusters. No decision moves, and no cluster is reported
// unhealthy.
func TestATakeoverFromOpenClusterManagementEvictsNothing(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{TaintUnjoined: true, Manifests: config.Registration()})
	to := newClient(t, hub)
	_, objects := readRecording(t, recordingPrefix+"f99524d.jsonl")
	load(t, to, objects)
	storeSentinel(t, to)
	storeControllers(t, to)
	before, watched := healthOf(t, to), watchSlices(t, to)
	follow(t, hub, to)
	manager := hubtest.StartManager(t, hub, hubtest.ManagerOptions{
		Webhooks: true, AllowErrors: true, TaintUnjoined: true, Args: []string{"--controllers=*,acceptance,csr,addon"},
	})
	awaitIdle(t, to, manager, watched)
	kit.AwaitWithin(t, testTimeout, "the manager has accepted the cluster and is idle", func(ctx context.Context) error {
		roles := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}
		list, err := to.Resource(roles).Namespace(nameOf(0)).List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) == 0 {
			err = errNotAccepted
		}
		return errors.Join(err, checkIdle(ctx, manager))
	})
	if moved := watched.changedSlices(); len(moved) > 0 {
		t.Errorf("decisions moved:\n%s", strings.Join(moved, "\n"))
	}
	after := healthOf(t, to)
	delete(before, "sentinel")
	delete(after, "sentinel")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the health of clusters changed (-before +after):\n%s", diff)
	}
}
