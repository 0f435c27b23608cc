package status

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/member"
)

// claimLines returns claims as "name=value".
func claimLines(claims []clusterv1.ManagedClusterClaim) []string {
	var out []string
	for _, claim := range claims {
		out = append(out, claim.Name+"="+claim.Value)
	}
	return out
}

func TestClaimsOrderAndPrecedence(t *testing.T) {
	for sentence, test := range map[string]struct {
		facts member.Facts
		want  []string
	}{
		"reserved claims first, each block by name": {
			member.Facts{UID: "u1", Version: "v1.36.3", Claims: map[string]string{"b": "2", "a": "1"}},
			[]string{"id.k8s.io=u1", "kubeversion.open-cluster-management.io=v1.36.3", "product.open-cluster-management.io=Other", "a=1", "b=2"},
		},
		"a ClusterProperty wins over a ClusterClaim": {
			member.Facts{UID: "u1", Claims: map[string]string{"a": "claim"}, Properties: map[string]string{"a": "property"}},
			[]string{"id.k8s.io=u1", "a=property"},
		},
		"a claim wins over a derived claim": {
			member.Facts{UID: "u1", Claims: map[string]string{"id.k8s.io": "claimed"}},
			[]string{"id.k8s.io=claimed"},
		},
		"the property of the cluster set is the ID": {
			member.Facts{UID: "u1", Properties: map[string]string{"cluster.clusterset.k8s.io": "c1"}},
			[]string{"id.k8s.io=c1", "cluster.clusterset.k8s.io=c1"},
		},
		"a value that is too long does not hide the derived claim": {
			member.Facts{UID: "u1", Properties: map[string]string{"id.k8s.io": strings.Repeat("x", 1025)}},
			[]string{"id.k8s.io=u1"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, _ := Claims(test.facts)
			if diff := cmp.Diff(test.want, claimLines(got)); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClaimsAboveTheLimitsAreLeftOutAndReported(t *testing.T) {
	long := map[string]string{clusterPropertyID: strings.Repeat("x", 1025)}
	if got, omitted := Claims(member.Facts{UID: "u1", Properties: long}); len(got) != 1 || got[0].Value != "u1" ||
		!slices.Contains(omitted.TooLong, clusterPropertyID) {
		t.Errorf("with an ID that is too long the claims are %v, and %v are left out", claimLines(got), omitted)
	}
	found := map[string]string{"empty": "", "long": strings.Repeat("ä", 1025), "fits": strings.Repeat("ä", 1024), "id.k8s.io": "u1"}
	for number := range 24 {
		found[fmt.Sprintf("z%02d", number)] = "v"
	}
	claims, omitted := Claims(member.Facts{Claims: found})
	if len(claims) != 1+maxCustomClaims {
		t.Errorf("%d claims are reported", len(claims))
	}
	want := "Claims that are not reported, so that placements do not see them: 2 without a value of 1 to 1024 characters: empty, long; " +
		"5 above the limit of 20: z19, z20, z21 and 2 more"
	if diff := cmp.Diff(want, omitted.message()); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

func labeled(provider string, labels map[string]string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.NodeSpec{ProviderID: provider}}
}

func TestDerivedClaims(t *testing.T) {
	zone := func(region, zone string) map[string]string {
		return map[string]string{corev1.LabelTopologyRegion: region, corev1.LabelTopologyZone: zone}
	}
	for sentence, test := range map[string]struct {
		version                         string
		nodes                           []*corev1.Node
		platform, product, region, zone string
	}{
		"no nodes": {"v1.36.3", nil, "", "Other", "", ""},
		"EKS by its version": {
			"v1.33.1-eks-abc",
			[]*corev1.Node{labeled("aws:///a/i-1", zone("r1", "r1a"))},
			"AWS", "EKS", "r1",
			"r1a",
		},
		"GKE by its version": {"v1.33.1-gke.100", []*corev1.Node{labeled("gce://p/z/n", nil)}, "GCP", "GKE", "", ""},
		"AKS by a label": {"v1.33.1", []*corev1.Node{
			labeled("azure:///s", map[string]string{"kubernetes.azure.com/cluster": "c"}),
		}, "Azure", "AKS", "", ""},
		"k3s without a cloud": {"v1.33.1+k3s1", []*corev1.Node{labeled("k3s://n1", nil)}, "Other", "K3S", "", ""},
		"two zones of one region": {
			"v1",
			[]*corev1.Node{labeled("aws:///", zone("r1", "r1a")), labeled("aws:///", zone("r1", "r1b"))},
			"AWS", "Other", "r1", "",
		},
		"a node without labels": {
			"v1",
			[]*corev1.Node{labeled("aws:///", nil), labeled("aws:///", zone("r1", "r1b"))},
			"AWS", "Other",
			"r1", "r1b",
		},
		"nodes on different platforms": {"v1", []*corev1.Node{labeled("aws:///", nil), labeled("gce:///", nil)}, "Other", "Other", "", ""},
		"OpenShift on its own machines": {"v1", []*corev1.Node{labeled("baremetalhost:///n",
			map[string]string{"node.openshift.io/os_id": "rhcos"})}, "BareMetal", "OpenShift", "", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := derived(member.Facts{Version: test.version, Nodes: test.nodes})
			want := map[string]string{clusterv1.ClaimKubeVersion: test.version}
			for name, value := range map[string]string{
				clusterv1.ClaimPlatform: test.platform, clusterv1.ClaimProduct: test.product, clusterv1.ClaimRegion: test.region,
				clusterv1.ClaimZone: test.zone,
			} {
				if value != "" {
					want[name] = value
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
}
