package get_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lifecycleObjects are placements that Berth does not decide, a placement that it decides, and slices without a placement.
const lifecycleObjects = `
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: decided, namespace: shop}
spec: {}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: disabled, namespace: shop, annotations: {cluster.open-cluster-management.io/experimental-scheduling-disable: "true"}}
spec: {}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: going, namespace: shop, deletionTimestamp: "2026-11-20T09:00:00Z", finalizers: [example.com/hold]}
spec: {}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: PlacementDecision
metadata:
  name: left-decision-1
  namespace: shop
  labels: {cluster.open-cluster-management.io/placement: left}
  annotations: {cluster.open-cluster-management.io/decision-strategy-hash: abc}
status: {decisions: [{clusterName: eu-1, reason: ""}, {clusterName: eu-2, reason: ""}]}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: PlacementDecision
metadata: {name: others-decision-1, namespace: shop, labels: {cluster.open-cluster-management.io/placement: others}}
status: {decisions: [{clusterName: eu-1, reason: ""}]}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: europe}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: europe, namespace: shop, deletionTimestamp: "2026-11-20T09:00:00Z", finalizers: [example.com/hold]}
spec: {clusterSet: europe}
`

func TestGetShowsUndecidedPlacements(t *testing.T) {
	got := run(t, lifecycleObjects, "get", "placements", "-f", "-")
	var rows []string
	for line := range strings.Lines(got.Out) {
		rows = append(rows, strings.Join(strings.Fields(line)[1:5], " "))
	}
	want := []string{
		"NAME SATISFIED REASON SELECTED", "decided Unknown - 0/all", "disabled Unknown Disabled 0/all",
		"going Unknown Terminating 0/all", "left Unknown Orphaned 2",
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s%s", diff, got.ErrOut)
	}
}

func TestTerminatingBindingIsHidden(t *testing.T) {
	got := run(t, lifecycleObjects, "get", "sets", "-f", "-", "-o", "json")
	if !strings.Contains(got.Out, `"namespaces": []`) {
		t.Errorf("the set is bound to a namespace that gives it up: %s%s", got.Out, got.ErrOut)
	}
}

// TestGetShowsAHeldEdit: the reason of the hold instead of that of a placement that is not satisfied, and its type where clusters are held.
func TestGetShowsAHeldEdit(t *testing.T) {
	got := run(t, `
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: web, namespace: shop, generation: 2}
spec: {}
status:
  conditions:
  - {type: PlacementSatisfied, status: 'True', reason: AllDecisionsScheduled, message: before, observedGeneration: 1,
    lastTransitionTime: &then "2026-11-20T09:00:00Z"}
  - {type: EditHeld, status: 'True', reason: EmptiesPlacement, message: none, observedGeneration: 2, lastTransitionTime: *then}
`, "get", "placements", "-f", "-")
	if !strings.Contains(strings.Join(strings.Fields(got.Out), " "), "shop web True EmptiesPlacement 0/all 0 edit") {
		t.Errorf("%s%s", got.Out, got.ErrOut)
	}
}
