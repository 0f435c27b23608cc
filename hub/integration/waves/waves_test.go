//go:build slow

package waves

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
)

const (
	binding = `
metadata: {name: global, namespace: default}
spec: {clusterSet: global}`

	placement = `
metadata: {name: prod, namespace: default}
spec:
  decisionStrategy:
    groupStrategy:
      clustersPerDecisionGroup: %d
      decisionGroups:
      - {groupName: prod-canary-west, groupClusterSelector: {labelSelector: {matchLabels: {stage: prod-canary-west}}}}
      - {groupName: prod-canary-east, groupClusterSelector: {labelSelector: {matchLabels: {stage: prod-canary-east}}}}`

	set = `
metadata: {name: web, namespace: default}
spec:
  placementRefs:
  - name: prod
    rolloutStrategy:
      type: ProgressivePerGroup
      progressivePerGroup:
        progressDeadline: 50m
        mandatoryDecisionGroups: [{groupName: prod-canary-west}, {groupName: prod-canary-east}]
  manifestWorkTemplate:
    workload:
      manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: default}, data: {value: "1"}}]`
)

// TestAFleetRollsOutInWaves delivers a set, and then a change of it.
func TestAFleetRollsOutInWaves(t *testing.T) {
	f := newFleet(t)
	f.create(&clusterv1beta2.ManagedClusterSetBinding{}, binding)
	f.create(&clusterv1beta1.Placement{}, fmt.Sprintf(placement, f.group))
	f.eventually(t, func(ctx context.Context) error {
		stored := &clusterv1beta1.Placement{}
		if err := f.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "prod"}, stored); err != nil {
			return err
		}
		if got := int(stored.Status.NumberOfSelectedClusters); got != f.simulated+members {
			return fmt.Errorf("%d clusters are selected: %w", got, errNotYet)
		}
		return nil
	})
	groups := f.groups("prod")
	requireSizes(t, groups, f.canaries, f.canaries, f.group, f.simulated+members-2*f.canaries-f.group)

	stored := &workv1alpha1.ManifestWorkReplicaSet{}
	f.create(stored, set)
	requireOrder(t, groups, f.awaitRolledOut(stored))
	f.requireValue("1")
	stored.Spec.ManifestWorkTemplate.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"default"},"data":{"value":"2"}}`),
	}}}
	f.MustUpdate(stored)
	requireOrder(t, groups, f.awaitRolledOut(stored))
	f.requireValue("2")
	if got := f.groups("prod"); cmp.Diff(groups, got) != "" {
		t.Errorf("the groups changed meanwhile (-before +after):\n%s", cmp.Diff(groups, got))
	}
}

func requireSizes(t *testing.T, groups [][]string, want ...int) {
	t.Helper()
	var got []int
	for _, group := range groups {
		got = append(got, len(group))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("sizes of the groups (-want +got):\n%s", diff)
	}
}

// requireValue requires the value of the ConfigMap of the members.
func (f *fleet) requireValue(want string) {
	f.t.Helper()
	for i, member := range f.members {
		stored := &corev1.ConfigMap{}
		if err := member.Get(f.t.Context(), client.ObjectKey{Namespace: "default", Name: "web"}, stored); err != nil ||
			stored.Data["value"] != want {
			f.t.Errorf("member %d has %v, want %s: %v", i, stored.Data, want, err)
		}
	}
}
