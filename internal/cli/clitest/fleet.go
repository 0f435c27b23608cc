package clitest

import (
	"fmt"
	"strings"
)

// Fleet is two clusters, a set of both, and a binding of the set to the namespace default.
const Fleet = `
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedClusterList
items:
- {metadata: {name: c1}}
- {metadata: {name: c2}}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: all}
spec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {}}}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: all}
spec: {clusterSet: all}
`

// Placement returns a placement, as a document that follows another.
func Placement(name, metadata, spec string) string {
	return fmt.Sprintf("\n---\napiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\n"+
		"metadata: {name: %s, %s}\nspec: {%s}\n", name, metadata, spec)
}

// Slice returns a PlacementDecision with one cluster, as a document that follows another.
func Slice(name, metadata, cluster string) string {
	return fmt.Sprintf("\n---\napiVersion: cluster.open-cluster-management.io/v1beta1\nkind: PlacementDecision\nmetadata: {name: %s, %s}\n"+
		"status: {decisions: [{clusterName: %s, reason: ''}]}\n", name, metadata, cluster)
}

// WideFleet is a fleet in which clusters fall for every reason, with one placement and some more that it shares a name with.
func WideFleet() string {
	var out strings.Builder
	out.WriteString(`
{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSet, metadata: {name: all},
 spec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {matchExpressions: [{key: region, operator: Exists}]}}}}
---
{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSetBinding, metadata: {name: all, namespace: shop}, spec: {clusterSet: all}}
`)
	cluster := func(name, labels, spec string, cpu int) {
		fmt.Fprintf(&out, "---\n{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, "+
			"metadata: {name: %s, labels: {%s}}, spec: {%s},\n"+
			" status: {capacity: {cpu: '%[4]d'}, allocatable: {cpu: '%[4]d'}}}\n", name, labels, spec, cpu)
	}
	for i := range 40 {
		cluster(fmt.Sprintf("eu-%02d", i), fmt.Sprintf("region: eu, zone: eu-%d", i%12), "", 10+i)
	}
	for i := range 90 {
		cluster(fmt.Sprintf("us-%02d", i), "region: us", "", 10)
	}
	for i := range 4 {
		cluster(fmt.Sprintf("gpu-%d", i), fmt.Sprintf("region: eu, zone: gpu-%d", i),
			"taints: [{key: gpu, value: 'true', effect: NoSelect, timeAdded: '2026-11-20T09:00:00Z'}]", 99)
	}
	cluster("alien", "", "", 99)
	out.WriteString(`---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: web, namespace: shop}
spec:
  numberOfClusters: 10
  predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {region: eu}}}}]
  prioritizerPolicy: {configurations: [{scoreCoordinate: {builtIn: ResourceAllocatableCPU}, weight: 2}]}
  spreadPolicy: {antiAffinity: [{topologyKey: zone, topologyKeyType: Label}]}
  tolerations: [{key: gpu, operator: Equal, value: 'yes'}]
  decisionStrategy: {groupStrategy: {decisionGroups: [{groupName: canary, groupClusterSelector: {labelSelector: {matchLabels: {zone: eu-3}}}}]}}
---
{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: {name: twice, namespace: a}, spec: {}}
---
{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: {name: twice, namespace: b}, spec: {}}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: frozen, namespace: shop, annotations: {cluster.open-cluster-management.io/experimental-scheduling-disable: 'true'}}
spec: {}
`)
	return out.String()
}
