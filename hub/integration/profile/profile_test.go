package profile

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestProfilesFollowTheFleet changes a cluster, a set and bindings, one after the other.
func TestProfilesFollowTheFleet(t *testing.T) {
	w := newState(t, "--profile-access-provider=example")
	other := shared.Namespace(t)
	a := w.join("a", nil)
	w.awaitProfiles(w.namespace, "a")
	profile := w.awaitProfile(w.namespace, a.Name, func(p *multiclusterv1alpha1.ClusterProfile) bool { return len(p.Status.Properties) > 0 })
	if profile.Labels["x-k8s.io/cluster-manager"] != "berth" || profile.Spec.ClusterManager.Name != "berth" ||
		profile.Spec.DisplayName != a.Name {
		t.Errorf("the profile is %+v", profile)
	}
	profile.Status.Properties[0].LastObservedTime = metav1.Time{}
	want := multiclusterv1alpha1.ClusterProfileStatus{
		Conditions: profile.Status.Conditions, Version: multiclusterv1alpha1.ClusterVersion{Kubernetes: "v1.36.3"},
		Properties: []multiclusterv1alpha1.Property{{Name: "id.k8s.io", Value: "a"}},
		AccessProviders: []multiclusterv1alpha1.AccessProvider{{Name: "example", Cluster: multiclusterv1alpha1.ClusterEndpoint{
			Server: "https://a.example.com", CertificateAuthorityData: []byte("ca of a"),
		}}},
	}
	if diff := cmp.Diff(want, profile.Status); diff != "" {
		t.Errorf("the status (-want +got):\n%s", diff)
	}
	if status(profile, "ControlPlaneHealthy") != metav1.ConditionTrue || status(profile, "Joined") != metav1.ConditionTrue {
		t.Errorf("the conditions are %+v", profile.Status.Conditions)
	}

	t.Log("the cluster does not answer any more")
	w.report(a, func(status *clusterv1.ManagedClusterStatus) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type:   clusterv1.ManagedClusterConditionAvailable,
			Status: metav1.ConditionFalse, Reason: "Down",
		})
	})
	w.awaitProfile(w.namespace, a.Name, func(p *multiclusterv1alpha1.ClusterProfile) bool {
		return status(p, "ControlPlaneHealthy") == metav1.ConditionFalse
	})

	t.Log("what a user changes in a profile is undone, and a deleted profile returns")
	change(w, profile, func(p *multiclusterv1alpha1.ClusterProfile) { p.Spec.DisplayName, p.Labels = "mine", nil })
	w.awaitProfile(w.namespace, a.Name, func(p *multiclusterv1alpha1.ClusterProfile) bool {
		return p.Spec.DisplayName == a.Name && p.Labels["x-k8s.io/cluster-manager"] == "berth"
	})
	w.delete(profile)
	w.awaitProfile(w.namespace, a.Name, func(p *multiclusterv1alpha1.ClusterProfile) bool {
		return p.UID != profile.UID && len(p.Status.Properties) == 1
	})

	t.Log("a second namespace, a second cluster, and a cluster that leaves the set")
	binding := w.bind(other)
	w.awaitProfiles(other, "a")
	b := w.join("b", nil)
	w.awaitProfiles(w.namespace, "a b")
	w.awaitProfiles(other, "a b")
	change(w, b, func(c *clusterv1.ManagedCluster) { c.Labels[clusterv1beta2.ClusterSetLabel] = "elsewhere" })
	w.awaitProfiles(w.namespace, "a")
	w.awaitProfiles(other, "a")

	t.Log("a binding goes, then the cluster")
	w.delete(binding)
	w.awaitProfiles(other, "")
	w.awaitProfiles(w.namespace, "a")
	w.delete(a)
	w.awaitProfiles(w.namespace, "")
}

// TestAnotherManagersProfileStays has a profile of another cluster manager under the name of a cluster.
func TestAnotherManagersProfileStays(t *testing.T) {
	w := newState(t)
	theirs := &multiclusterv1alpha1.ClusterProfile{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.name("a")},
		Spec:       multiclusterv1alpha1.ClusterProfileSpec{ClusterManager: multiclusterv1alpha1.ClusterManager{Name: "theirs"}},
	}
	w.create(theirs)
	a := w.join("a", nil)
	w.join("b", nil)
	placement := kit.Placement(w.namespace, "web")
	w.create(placement)
	w.awaitProfiles(w.namespace, "a b")
	kit.Await(t, "an event reports the other manager", func(ctx context.Context) error {
		list := &eventsv1.EventList{}
		if err := w.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for i := range list.Items {
			if e := &list.Items[i]; e.Reason == "ManagedElsewhere" && e.Regarding.Kind == "ClusterProfile" && e.Regarding.Name == a.Name {
				return nil
			}
		}
		return fmt.Errorf("%d events, none about the profile: %w", len(list.Items), errNotYet)
	})
	metrics, err := w.manager.ReadMetrics(t.Context())
	if err != nil || metrics.Sum("berth_profiles_blocked") != 1 {
		t.Errorf("%v profiles are blocked, want 1: %v", metrics.Sum("berth_profiles_blocked"), err)
	}

	t.Log("a decision names no profile of another manager, which may be of another cluster")
	reader := consumer{w: w, key: "web"}
	reader.await(w.name("b"))
	if got, err := w.Selected(t.Context(), w.namespace, "web"); err != nil || len(got) != 2 {
		t.Fatalf("the placement has %v: %v", got, err)
	}

	w.awaitStay(theirs)
	t.Log("it is removed")
	w.delete(theirs)
	w.awaitProfile(w.namespace, a.Name, func(p *multiclusterv1alpha1.ClusterProfile) bool { return p.Spec.ClusterManager.Name == "berth" })
	reader.await(w.name("a"), w.name("b"))
}

// awaitStay requires that a profile has not changed, after the manager has handled a later change.
func (s *state) awaitStay(profile *multiclusterv1alpha1.ClusterProfile) {
	s.t.Helper()
	s.join("later", nil)
	s.awaitProfile(s.namespace, s.name("later"), func(p *multiclusterv1alpha1.ClusterProfile) bool { return len(p.Status.Conditions) > 0 })
	stored, err := s.profile(s.t.Context(), profile.Namespace, profile.Name)
	if err != nil || stored.ResourceVersion != profile.ResourceVersion {
		s.t.Errorf("the profile of another manager was written: %v", err)
	}
	s.delete(kit.Cluster(s.name("later")))
	s.Await("the later profile is gone", func(ctx context.Context) error {
		if _, err := s.profile(ctx, s.namespace, s.name("later")); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the profile is still there: %w", errNotYet)
		}
		return nil
	})
}

// heartbeats returns how many renewals of leases the API server has completed.
func (s *state) heartbeats() float64 {
	s.t.Helper()
	total := 0.0
	for _, count := range hubtest.Writes(s.hub.ReadMetrics(s.t), func(_, resource string) bool { return resource == "leases" }) {
		total += count
	}
	return total
}

// TestTheShortNameIsOfThePlacementAPI requires that kubectl resolves the name that both groups have as it always did.
func TestTheShortNameIsOfThePlacementAPI(t *testing.T) {
	w := newState(t)
	w.join("a", nil)
	w.create(kit.Placement(w.namespace, "web"))
	reader := consumer{w: w, key: "web"}
	reader.await(w.name("a"))
	binary := kit.Must(hubtest.Binary()).In(t)
	for resource, want := range map[string]string{
		"placementdecisions":                       "placementdecision.cluster.open-cluster-management.io/web-decision-1",
		"placementdecision":                        "placementdecision.cluster.open-cluster-management.io/web-decision-1",
		"placementdecisions.multicluster.x-k8s.io": "placementdecision.multicluster.x-k8s.io/web-decision-1",
	} {
		output, err := exec.CommandContext(t.Context(), binary, "kubectl", "--kubeconfig="+shared.Kubeconfig(), "get", resource, "-n",
			w.namespace, "-o", "name").CombinedOutput()
		if got := strings.TrimSpace(string(output)); err != nil || got != want {
			t.Errorf("kubectl get %s: %q, %v, want %q", resource, got, err, want)
		}
	}
}
