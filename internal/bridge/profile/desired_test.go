package profile

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
)

// start is an instant; later is one in which values have changed.
var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	later = start.Add(time.Hour)
	own   = identity{manager: "berth", provider: "example"}
)

// cluster returns an accepted, healthy cluster with some claims.
func cluster(change ...func(*clusterv1.ManagedCluster)) *clusterv1.ManagedCluster {
	out := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{
		Name: "c1", UID: "uid-c1",
		CreationTimestamp: metav1.NewTime(start.Add(-time.Hour)),
	}}
	out.Spec.HubAcceptsClient = true
	out.Spec.ManagedClusterClientConfigs = []clusterv1.ClientConfig{
		{URL: "https://c1.example.com", CABundle: []byte("ca")},
		{URL: "https://other.example.com"},
	}
	out.Status.Version.Kubernetes = "v1.36.3"
	out.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: "zone", Value: "b"}, {Name: "id.k8s.io", Value: "7"}}
	for _, kind := range []string{clusterv1.ManagedClusterConditionAvailable, clusterv1.ManagedClusterConditionJoined} {
		out.Status.Conditions = append(out.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: kind, Message: "at " + start.String(),
			LastTransitionTime: metav1.NewTime(start.Add(-time.Minute)),
		})
	}
	for _, c := range change {
		c(out)
	}
	return out
}

func TestTheProfileOfACluster(t *testing.T) {
	transition := metav1.NewTime(start.Add(-time.Minute))
	want := &multiclusterv1alpha1.ClusterProfile{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "c1", Labels: map[string]string{"x-k8s.io/cluster-manager": "berth"},
			Annotations: map[string]string{accessProviderAnnotation: "example"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "cluster.open-cluster-management.io/v1", Kind: "ManagedCluster", Name: "c1",
				UID: "uid-c1",
			}},
		},
		Spec: multiclusterv1alpha1.ClusterProfileSpec{DisplayName: "c1", ClusterManager: multiclusterv1alpha1.ClusterManager{Name: "berth"}},
		Status: multiclusterv1alpha1.ClusterProfileStatus{
			Version: multiclusterv1alpha1.ClusterVersion{Kubernetes: "v1.36.3"},
			Properties: []multiclusterv1alpha1.Property{
				{Name: "id.k8s.io", Value: "7", LastObservedTime: metav1.NewTime(start)},
				{Name: "zone", Value: "b", LastObservedTime: metav1.NewTime(start)},
			},
			Conditions: []metav1.Condition{
				{
					Type: "ControlPlaneHealthy", Status: "True", Reason: clusterv1.ManagedClusterConditionAvailable,
					Message: "The API server of the cluster answers.", LastTransitionTime: transition,
				},
				{
					Type: "Joined", Status: "True", Reason: clusterv1.ManagedClusterConditionJoined, Message: "The cluster has joined the hub.",
					LastTransitionTime: transition,
				},
			},
			AccessProviders: []multiclusterv1alpha1.AccessProvider{{
				Name: "example", Cluster: multiclusterv1alpha1.ClusterEndpoint{
					Server:                   "https://c1.example.com",
					CertificateAuthorityData: []byte("ca"),
				},
			}},
		},
	}
	if diff := cmp.Diff(want, desired(cluster(), "shop", nil, own, start)); diff != "" {
		t.Errorf("the profile (-want +got):\n%s", diff)
	}
}

// TestTheTopologyOfACluster has the region and the zone in labels, in claims of an agent, and in claims with these names.
func TestTheTopologyOfACluster(t *testing.T) {
	labels := map[string]string{"topology.kubernetes.io/region": "label", "topology.kubernetes.io/zone": "label"}
	reported := []clusterv1.ManagedClusterClaim{
		{Name: "region.berth-project.io", Value: "agent"},
		{Name: "zone.berth-project.io", Value: "agent"},
	}
	for name, test := range map[string]struct {
		labels map[string]string
		claims []clusterv1.ManagedClusterClaim
		want   map[string]string
	}{
		"nothing":             {nil, nil, map[string]string{}},
		"labels":              {labels, nil, map[string]string{"region": "label", "zone": "label"}},
		"claims of an agent":  {nil, reported, map[string]string{"region": "agent", "zone": "agent"}},
		"labels and an agent": {labels, reported, map[string]string{"region": "label", "zone": "label"}},
		"a claim with the name": {
			labels,
			[]clusterv1.ManagedClusterClaim{{Name: "zone", Value: "claim"}},
			map[string]string{"region": "label", "zone": "claim"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			of := cluster(func(c *clusterv1.ManagedCluster) { c.Labels, c.Status.ClusterClaims = test.labels, test.claims })
			got := map[string]string{}
			for _, property := range desired(of, "shop", nil, own, start).Status.Properties {
				if property.Name == "region" || property.Name == "zone" {
					got[property.Name] = property.Value
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestReportsWithoutNewsChangeNoProfile repeats reports that have another time in their messages, capacity and taints.
func TestReportsWithoutNewsChangeNoProfile(t *testing.T) {
	stored := desired(cluster(), "shop", nil, own, start)
	again := cluster(func(c *clusterv1.ManagedCluster) {
		c.Spec.Taints = []clusterv1.Taint{{Key: "example.com/busy", Effect: clusterv1.TaintEffectNoSelect}}
		for i := range c.Status.Conditions {
			c.Status.Conditions[i].Message = "at " + later.String()
			c.Status.Conditions[i].LastTransitionTime = metav1.NewTime(later)
		}
		c.Status.ClusterClaims[0], c.Status.ClusterClaims[1] = c.Status.ClusterClaims[1], c.Status.ClusterClaims[0]
	})
	if got := change(desired(again, "shop", stored, own, later), stored, own); got != verbNone {
		t.Errorf("the change is %s", got)
	}
}

func TestOnlyNewValuesGetANewTime(t *testing.T) {
	stored := desired(cluster(), "shop", nil, own, start)
	next := desired(cluster(func(c *clusterv1.ManagedCluster) { c.Status.ClusterClaims[0].Value = "c" }), "shop", stored, own, later)
	want := []multiclusterv1alpha1.Property{
		{Name: "id.k8s.io", Value: "7", LastObservedTime: metav1.NewTime(start)},
		{Name: "zone", Value: "c", LastObservedTime: metav1.NewTime(later)},
	}
	if diff := cmp.Diff(want, next.Status.Properties); diff != "" {
		t.Errorf("the properties (-want +got):\n%s", diff)
	}
	if got := change(next, stored, own); got != verbUpdate {
		t.Errorf("the change is %s", got)
	}
}

func TestClaimsThatNoPropertyCanHoldAreReported(t *testing.T) {
	with := cluster(func(c *clusterv1.ManagedCluster) {
		c.Status.ClusterClaims = append(c.Status.ClusterClaims,
			clusterv1.ManagedClusterClaim{Name: "long", Value: strings.Repeat("é", 1025)}, clusterv1.ManagedClusterClaim{Name: "empty"},
			clusterv1.ManagedClusterClaim{Name: strings.Repeat("n", 254), Value: "1"},
			clusterv1.ManagedClusterClaim{Name: "longest", Value: strings.Repeat("x", 1024)},
			clusterv1.ManagedClusterClaim{Name: "multi-byte", Value: strings.Repeat("語", 400)},
			clusterv1.ManagedClusterClaim{Name: strings.Repeat("é", 253), Value: "1"},
			clusterv1.ManagedClusterClaim{Name: "zone", Value: "z"})
	})
	got := desired(with, "shop", nil, own, start)
	values := map[string]int{}
	for _, property := range got.Status.Properties {
		values[property.Name] = len(property.Value)
	}
	if diff := cmp.Diff(map[string]int{"id.k8s.io": 1, "zone": 1, "longest": 1024, "multi-byte": 1200, strings.Repeat("é", 253): 1},
		values); diff != "" {
		t.Errorf("lengths of the values (-want +got):\n%s", diff)
	}
	if value := got.Status.Properties[3].Value; value != "z" {
		t.Errorf("the last of two claims is z, and the property %q", value)
	}
	condition := got.Status.Conditions[2]
	if condition.Type != "PropertiesOmitted" || condition.Status != "True" || !strings.Contains(condition.Message, `"empty", "long", "nnn`) ||
		!strings.Contains(condition.Message, "1 to 253 characters, and a value 1 to 1024") {
		t.Errorf("the condition is %+v", condition)
	}
	if after := desired(cluster(), "shop", got, own, later); len(after.Status.Conditions) != 2 {
		t.Errorf("the conditions of a cluster without such claims are %+v", after.Status.Conditions)
	}
}

func TestTheAddressOfACluster(t *testing.T) {
	theirs := multiclusterv1alpha1.AccessProvider{
		Name:    "theirs",
		Cluster: multiclusterv1alpha1.ClusterEndpoint{Server: "https://proxy.example.com"},
	}
	stored := desired(cluster(), "shop", nil, own, start)
	stored.Status.AccessProviders = append(stored.Status.AccessProviders, theirs)
	for name, test := range map[string]struct {
		of      identity
		change  func(*clusterv1.ManagedCluster)
		want    string
		changes verb
	}{
		"another client adds a provider": {of: own, want: "example theirs", changes: verbNone},
		"the provider gets another name": {of: identity{"berth", "other"}, want: "other theirs", changes: verbUpdate},
		"no address is wanted any more":  {of: identity{"berth", ""}, want: "theirs", changes: verbUpdate},
		"the cluster is denied": {
			of: own, change: func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false },
			want: "theirs", changes: verbUpdate,
		},
		"the cluster has no address": {
			of: own, change: func(c *clusterv1.ManagedCluster) { c.Spec.ManagedClusterClientConfigs = nil },
			want: "theirs", changes: verbUpdate,
		},
		"another client is of the new name": {of: identity{"berth", "theirs"}, want: "theirs", changes: verbUpdate},
	} {
		t.Run(name, func(t *testing.T) {
			c := cluster()
			if test.change != nil {
				test.change(c)
			}
			next := desired(c, "shop", stored, test.of, later)
			var got []string
			for _, provider := range next.Status.AccessProviders {
				got = append(got, provider.Name)
			}
			if names := strings.Join(got, " "); names != test.want {
				t.Errorf("the providers are %q, want %q", names, test.want)
			}
			if verb := change(next, stored, test.of); verb != test.changes {
				t.Errorf("the change is %s, want %s", verb, test.changes)
			}
		})
	}
}

func TestHealth(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*clusterv1.ManagedCluster)
		healthy metav1.ConditionStatus
		reason  string
		joined  metav1.ConditionStatus
	}{
		"a cluster that never reported": {func(c *clusterv1.ManagedCluster) { c.Status.Conditions = nil }, "Unknown", "NotReported", "False"},
		"a silent cluster": {func(c *clusterv1.ManagedCluster) {
			c.Status.Conditions[0].Status, c.Status.Conditions[0].Reason = "Unknown", "Stopped"
		}, "Unknown", "Stopped", "True"},
		"a cluster that does not answer": {func(c *clusterv1.ManagedCluster) {
			c.Status.Conditions[0].Status, c.Status.Conditions[0].Reason = "False", "Down"
		}, "False", "Down", "True"},
	} {
		t.Run(name, func(t *testing.T) {
			got := desired(cluster(test.change), "shop", desired(cluster(), "shop", nil, own, start), own, later).Status.Conditions
			if got[0].Status != test.healthy || got[0].Reason != test.reason || got[1].Status != test.joined {
				t.Errorf("the conditions are %+v", got)
			}
		})
	}
}

func TestChange(t *testing.T) {
	profile := func(change func(*multiclusterv1alpha1.ClusterProfile)) *multiclusterv1alpha1.ClusterProfile {
		out := desired(cluster(), "shop", nil, own, start)
		change(out)
		return out
	}
	same := func(*multiclusterv1alpha1.ClusterProfile) {}
	foreign := profile(func(p *multiclusterv1alpha1.ClusterProfile) { p.Spec.ClusterManager.Name = "theirs" })
	for name, test := range map[string]struct {
		want, stored *multiclusterv1alpha1.ClusterProfile
		verb         verb
	}{
		"nothing wanted, nothing stored": {nil, nil, verbNone},
		"wanted and missing":             {profile(same), nil, verbCreate},
		"wanted and stored":              {profile(same), profile(same), verbNone},
		"not wanted any more":            {nil, profile(same), verbDelete},
		"another manager has it":         {profile(same), foreign, verbBlocked},
		"another manager has one without a name": {profile(same), profile(func(p *multiclusterv1alpha1.ClusterProfile) {
			p.Spec.ClusterManager.Name = ""
		}), verbBlocked},
		"another manager has it, not wanted": {nil, foreign, verbNone},
		"another manager has it, with our label": {nil, profile(func(p *multiclusterv1alpha1.ClusterProfile) {
			p.Spec.ClusterManager.Name = "theirs"
		}), verbNone},
		"it is being deleted": {profile(same), profile(func(p *multiclusterv1alpha1.ClusterProfile) {
			p.DeletionTimestamp = &metav1.Time{Time: start}
		}), verbNone},
		"its label was removed": {
			profile(same), profile(func(p *multiclusterv1alpha1.ClusterProfile) { p.Labels = nil }),
			verbUpdate,
		},
		"its owner is a former cluster": {profile(same), profile(func(p *multiclusterv1alpha1.ClusterProfile) {
			p.OwnerReferences[0].UID = "former"
		}), verbUpdate},
		"its status is in another order": {profile(same), profile(func(p *multiclusterv1alpha1.ClusterProfile) {
			p.Status.Conditions[0], p.Status.Conditions[1] = p.Status.Conditions[1], p.Status.Conditions[0]
		}), verbNone},
		"a property was changed": {
			profile(same), profile(func(p *multiclusterv1alpha1.ClusterProfile) { p.Status.Properties[0].Value = "8" }),
			verbUpdate,
		},
		"a property was added": {profile(same), profile(func(p *multiclusterv1alpha1.ClusterProfile) {
			p.Status.Properties = append(p.Status.Properties, multiclusterv1alpha1.Property{Name: "x", Value: "y"})
		}), verbUpdate},
	} {
		t.Run(name, func(t *testing.T) {
			if got := change(test.want, test.stored, own); got != test.verb {
				t.Errorf("the change is %s, want %s", got, test.verb)
			}
		})
	}
}

func TestAWrongSelectorNeitherAddsNorRemoves(t *testing.T) {
	stored := desired(cluster(), "shop", nil, own, start)
	for in, want := range map[membership][2]bool{outside: {false, false}, inside: {true, true}, unknown: {false, true}} {
		if got := [2]bool{in.wanted(nil), in.wanted(stored)}; got != want {
			t.Errorf("membership %d: wanted %v without and with a profile, want %v", in, got, want)
		}
	}
}
