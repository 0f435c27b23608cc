package generate

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// The number of values of each property in which clusters differ.
const (
	regions  = 30
	teams    = 80
	features = 300
	claims   = 40

	minClaims, maxClaims = 5, 20
	maxFeatures          = 12
)

// Keys of the labels that every cluster has.
const (
	regionLabel = "topology.kubernetes.io/region"
	cloudLabel  = "cloud"
	stageLabel  = "stage"
	teamLabel   = "team"
)

func clouds() []string { return []string{"AWS", "Azure", "GCP", "VSphere", "BareMetal", "OpenStack"} }

func stages() []string { return []string{"prod", "staging", "dev", "sandbox"} }

func featureLabel(number int) string { return fmt.Sprintf("feature-%03d", number) }

func (g *generator) cluster(number int, set string) *clusterv1.ManagedCluster {
	region, cloud := fmt.Sprintf("region-%02d", g.region()), clouds()[g.cloud()]
	labels := map[string]string{
		clusterv1beta2.ClusterSetLabel: set,
		regionLabel:                    region,
		cloudLabel:                     cloud,
		stageLabel:                     stages()[g.stage()],
		teamLabel:                      fmt.Sprintf("team-%02d", g.team()),
	}
	for range g.IntN(maxFeatures + 1) {
		labels[featureLabel(g.feature())] = fmt.Sprintf("v%d", g.IntN(3))
	}
	out := &clusterv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("cluster-%05d", number), Labels: labels, Annotations: map[string]string{clusterv1.SimulatedAnnotationKey: "true"},
		},
		Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true, LeaseDurationSeconds: 60},
	}
	version := fmt.Sprintf("v1.%d.%d", g.between(32, 36), g.IntN(8))
	out.Status.Version.Kubernetes = version
	out.Status.ClusterClaims = g.claims(map[string]string{
		clusterv1.ClaimID: fmt.Sprintf("%016x", g.Uint64()), clusterv1.ClaimKubeVersion: version, clusterv1.ClaimPlatform: cloud,
		clusterv1.ClaimProduct: "Other", "region.open-cluster-management.io": region,
	})
	out.Status.Capacity, out.Status.Allocatable = g.resources()
	out.Status.Conditions = conditions()
	return out
}

// claims adds random claims to the claims that every cluster has.
func (g *generator) claims(of map[string]string) []clusterv1.ManagedClusterClaim {
	for wanted := g.between(minClaims, maxClaims); len(of) < wanted; {
		number := g.claim()
		for of[claimName(number)] != "" { // there are twice as many names as claims on a cluster
			number = (number + 1) % claims
		}
		of[claimName(number)] = fmt.Sprintf("value-%d", g.IntN(5))
	}
	out := make([]clusterv1.ManagedClusterClaim, 0, len(of))
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, clusterv1.ManagedClusterClaim{Name: name, Value: of[name]})
	}
	return out
}

func claimName(number int) string { return fmt.Sprintf("claim-%02d.example.org", number) }

// resources returns the resources of 3 to 200 machines, 20 to 95 percent of them free.
func (g *generator) resources() (capacity, allocatable clusterv1.ResourceList) {
	machines, free := g.between(3, 200), g.between(20, 95)
	list := func(percent int) clusterv1.ResourceList {
		return clusterv1.ResourceList{
			clusterv1.ResourceCPU:    *resource.NewMilliQuantity(int64(machines)*16*10*int64(percent), resource.DecimalSI),
			clusterv1.ResourceMemory: *resource.NewQuantity(int64(machines)*64<<30/100*int64(percent), resource.BinarySI),
		}
	}
	return list(100), list(free)
}

// conditions returns the conditions of a cluster that the hub simulates: it has no agent.
func conditions() []metav1.Condition {
	out := make([]metav1.Condition, 0, 3)
	for _, kind := range []string{
		clusterv1.ManagedClusterConditionHubAccepted, clusterv1.ManagedClusterConditionJoined, clusterv1.ManagedClusterConditionAvailable,
	} {
		out = append(out, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: clusterv1.ReasonSimulated,
			LastTransitionTime: metav1.NewTime(Epoch),
		})
	}
	return out
}

// taint taints some of the clusters.
func (g *generator) taint(all []*clusterv1.ManagedCluster) {
	for _, at := range g.Perm(len(all))[:len(all)*taintedPercent/100] {
		key := clusterv1.ManagedClusterTaintUnreachable
		if g.chance(50) {
			key = clusterv1.ManagedClusterTaintUnavailable
		}
		all[at].Spec.Taints = []clusterv1.Taint{{Key: key, Effect: clusterv1.TaintEffectNoSelect, TimeAdded: metav1.NewTime(Epoch)}}
	}
}
