package addon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/internal/cli/join"
)

var errNotAccepted = errors.New("the cluster is not accepted")

// testMember is a member with an agent that has the permissions of an installed one.
type testMember struct {
	client.WithWatch
	t     *testing.T
	agent *hubtest.Agent
}

// newTestMember creates a cluster on the hub, and starts its member and the agent of it.
func newTestMember(t *testing.T, s *testHub, cluster string) *testMember {
	t.Helper()
	runs := hubtest.New(t, hubtest.Options{Manifests: config.MemberCRDs()})
	m := &testMember{hubtest.NewClient(t, runs.Config()), t, hubtest.NewAgent(t)}
	installed := join.Agent{Cluster: cluster, Image: "berth-agent", Driver: "csr", Profile: join.ProfileBound}
	if err := installed.Install(t.Context(), runs.Config()); err != nil {
		t.Fatal(err)
	}
	stored := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}}
	stored.Spec.HubAcceptsClient = true
	s.store(stored)
	s.eventually(func(ctx context.Context) error {
		if err := s.Get(ctx, client.ObjectKeyFromObject(stored), stored); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(stored.Status.Conditions, clusterv1.ManagedClusterConditionHubAccepted) {
			return errNotAccepted
		}
		return nil
	})
	groups := []string{"system:serviceaccounts", "system:serviceaccounts:" + join.AgentNamespace}
	kubeconfig := runs.WriteKubeconfig(t, runs.ConfigFor(t, "system:serviceaccount:"+join.AgentNamespace+":berth-agent", groups...))
	m.agent.StoreCredential(t, s.Hub, cluster, "a1")
	m.agent.Start(t, runs, "--member-kubeconfig="+kubeconfig)
	return m
}

// renew renews the Lease of an add-on at a time, as the add-on does.
func (m *testMember) renew(namespace, addOn string, at time.Time) {
	m.t.Helper()
	err := m.Create(m.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	if client.IgnoreAlreadyExists(err) != nil {
		m.t.Fatal(err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: addOn}}
	if err := m.Create(m.t.Context(), lease); client.IgnoreAlreadyExists(err) != nil {
		m.t.Fatal(err)
	}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, at.UTC().Format(metav1.RFC3339Micro)))
	if err := m.Patch(m.t.Context(), lease, patch); err != nil {
		m.t.Fatal(err)
	}
}

// newAddOn stores an add-on of a cluster.
func (s *testHub) newAddOn(cluster, name, namespace string) *addonv1alpha1.ManagedClusterAddOn {
	s.t.Helper()
	out := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: name}}
	out.Spec.InstallNamespace = namespace
	s.store(out)
	return out
}

// customize sets the mode of an add-on that writes its health itself.
func (s *testHub) customize(addOn *addonv1alpha1.ManagedClusterAddOn) {
	s.t.Helper()
	before := addOn.DeepCopy()
	addOn.Status.HealthCheck.Mode = addonv1alpha1.HealthCheckModeCustomized
	if err := s.Status().Patch(s.t.Context(), addOn, client.MergeFrom(before)); err != nil {
		s.t.Fatal(err)
	}
}

// TestTheHealthOfAnAddOnFollowsItsLease has add-ons in each state, and then changes their Leases. All of them change in one reading.
func TestTheHealthOfAnAddOnFollowsItsLease(t *testing.T) {
	const (
		updated, stopped, missing = addonv1alpha1.AvailableReasonLeaseUpdated, addonv1alpha1.AvailableReasonLeaseUpdateStopped, addonv1alpha1.AvailableReasonLeaseNotFound
		yes, no, unknown          = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
		usual                     = addonv1alpha1.DefaultInstallNamespace
	)
	s := newTestHub(t)
	s.startManager()
	m := newTestMember(t, s, "edge")

	t.Log("the first reading")
	m.renew(usual, "fresh", time.Now())
	m.renew(usual, "steady", time.Now())
	m.renew("elsewhere", "old", time.Now().Add(-10*time.Minute))
	m.renew(usual, "customized", time.Now())
	customized := s.newAddOn("edge", "customized", "")
	s.customize(customized)
	s.report(customized, no)
	fresh, steady, old, late := s.newAddOn("edge", "fresh", ""), s.newAddOn("edge", "steady", usual), s.newAddOn("edge", "old", "elsewhere"), s.newAddOn("edge", "late", "elsewhere")
	s.awaitHealth(fresh, yes, updated)
	s.awaitHealth(steady, yes, updated)
	s.awaitHealth(old, no, stopped)
	s.awaitHealth(late, unknown, missing)
	s.awaitLabel("edge", "fresh", "available")
	s.awaitLabel("edge", "old", "unhealthy")
	s.awaitLabel("edge", "late", "unreachable")

	t.Log("the next reading")
	former := steady.ResourceVersion
	if err := m.Delete(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: usual, Name: "fresh"}}); err != nil {
		t.Fatal(err)
	}
	m.renew("elsewhere", "old", time.Now().Add(-9*time.Minute)) // a clock of the member that is behind
	m.renew("elsewhere", "late", time.Now())
	s.awaitHealth(fresh, unknown, missing)
	s.awaitHealth(old, yes, updated)
	s.awaitHealth(late, yes, updated)
	s.awaitLabel("edge", "fresh", "unreachable")
	s.awaitLabel("edge", "old", "available")

	s.read(steady)
	if steady.ResourceVersion != former {
		t.Error("an add-on whose health did not change was written")
	}
	s.awaitHealth(customized, no, "Test")
	s.awaitLabel("edge", "customized", "unhealthy")
	if err := s.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	s.awaitGone(old)
	s.awaitLabel("edge", "old", "")
	if log := m.agent.Log(); strings.Contains(log, "level=ERROR") {
		t.Errorf("the log of the agent:\n%s", log)
	}
}
