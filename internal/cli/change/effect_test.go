package change_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/internal/cli/change"
	"github.com/berth-project/berth/internal/source/file"
)

// TestWhatMatchesNothing decides a placement over the clusters a, of region eu and with the taint gpu, and b.
func TestWhatMatchesNothing(t *testing.T) {
	const fleet = `{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSet, metadata: {name: all}}
---
{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSetBinding, metadata: {name: all, namespace: shop},
 spec: {clusterSet: all}}
---
{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster,
 metadata: {name: a, labels: {region: eu, cluster.open-cluster-management.io/clusterset: all}},
 spec: {taints: [{key: gpu, effect: NoSelectIfNew, timeAdded: "2026-11-20T09:00:00Z"}]}}
---
{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster,
 metadata: {name: b, labels: {region: us, cluster.open-cluster-management.io/clusterset: all}}}
---
{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: elsewhere},
 spec: {taints: [{key: far, effect: NoSelect, timeAdded: "2026-11-20T09:00:00Z"}]}}
---
{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: {name: web, namespace: shop}, spec: `
	selector := func(region string) string { return "{labelSelector: {matchLabels: {region: " + region + "}}}" }
	for sentence, test := range map[string]struct {
		spec string
		want []string
	}{
		"nothing is named": {spec: "{}"},
		"all match": {spec: "{tolerations: [{key: gpu, operator: Exists}, {operator: Exists}], tiers: [{name: near, clusterSelector: " +
			selector("eu") + "}, {name: far}], decisionStrategy: {groupStrategy: {decisionGroups: [{groupName: canary, " +
			"groupClusterSelector: " + selector("us") + "}]}}}"},
		"a group": {
			spec: "{decisionStrategy: {groupStrategy: {decisionGroups: [{groupName: canary, groupClusterSelector: " + selector("ue") + "}]}}}",
			want: []string{"shop/web: no selected cluster is in the decision group canary"},
		},
		"a tier": {
			spec: "{tiers: [{name: near, clusterSelector: " + selector("ue") + "}, {name: far}]}",
			want: []string{"shop/web: no cluster that matches the predicates is in the tier near"},
		},
		"tolerations": {
			spec: "{tolerations: [{key: gpus, operator: Exists}, {key: far, operator: Exists}]}",
			want: []string{
				"shop/web: no cluster in its sets has a taint with the tolerated key far",
				"shop/web: no cluster in its sets has a taint with the tolerated key gpus",
			},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			bundle, err := file.Loader{Stdin: strings.NewReader(fleet + test.spec + "}")}.Load(t.Context(), []string{"-"})
			if err != nil {
				t.Fatal(err)
			}
			course := change.NewSimulation(bundle, enginetest.Epoch, nil)
			course.Stabilize(course.Order)
			if diff := cmp.Diff(test.want, course.WithoutEffect(bundle.Placements)); diff != "" {
				t.Errorf("without effect (-want +got):\n%s", diff)
			}
		})
	}
}
