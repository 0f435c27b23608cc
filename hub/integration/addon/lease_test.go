//go:build slow

package addon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/join"
)

// residentLimitKiB is the bound of the agent's resident memory at rest.
const residentLimitKiB = 30 << 10

var (
	errPermitted   = errors.New("the agent may still get Leases")
	errNotReported = errors.New("the permission is not reported as missing")
)

// testMember is a member with an agent that has the permissions of an installed one.
type testMember struct {
	*kit.Client
	t     *testing.T
	agent *hubtest.Agent
	// account has the permissions of the agent.
	account *kit.Client
	// health is the address of the agent's health probes.
	health string
}

// newTestMember creates a cluster on the hub, and starts its member and the agent of it.
func newTestMember(t *testing.T, s *testHub, cluster string) *testMember {
	t.Helper()
	runs := hubtest.New(t, hubtest.Options{Manifests: config.MemberCRDs()})
	groups := []string{"system:serviceaccounts", "system:serviceaccounts:" + join.AgentNamespace}
	account := runs.ConfigFor(t, "system:serviceaccount:"+join.AgentNamespace+":berth-agent", groups...)
	m := &testMember{kit.New(t, runs), t, hubtest.NewAgent(t), kit.For(t, account), hubtest.FreeAddress(t)}
	installed := join.Agent{Cluster: cluster, Image: "berth-agent", Driver: "csr", Profile: join.ProfileBound}
	kit.NoError(t, installed.Install(t.Context(), runs.Config()))
	stored := kit.AcceptedCluster(cluster)
	s.AwaitCreated(stored)
	s.AwaitCondition(stored, clusterv1.ManagedClusterConditionHubAccepted, metav1.ConditionTrue, "")
	m.agent.StoreCredential(t, s.Hub, cluster, "a1")
	m.agent.Start(t, runs, "--member-kubeconfig="+runs.WriteKubeconfig(t, account), "--health-probe-bind-address="+m.health)
	return m
}

// renew renews the Lease of an add-on at a time, as the add-on does.
func (m *testMember) renew(namespace, addOn string, at time.Time) {
	m.t.Helper()
	err := m.Create(m.t.Context(), kit.Namespace(namespace))
	if client.IgnoreAlreadyExists(err) != nil {
		m.t.Fatal(err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: addOn}}
	m.MustCreateMissing(lease)
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`,
		at.UTC().Format(metav1.RFC3339Micro)))
	m.MustPatch(lease, patch)
}

// forbidLeases takes the permission to get Leases from the agent, as an agent has it that was installed before.
func (m *testMember) forbidLeases() {
	m.t.Helper()
	role := &rbacv1.ClusterRole{}
	m.MustGet(client.ObjectKey{Name: "berth:agent"}, role)
	had := len(role.Rules)
	role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.Resources, "leases") })
	if len(role.Rules) != had-1 {
		m.t.Errorf("the role of the agent has %d rules, and %d without Leases", had, len(role.Rules))
	}
	m.MustUpdate(role)
	m.Await("the agent may not read the Leases of a namespace", func(ctx context.Context) error {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "late"}}
		if err := m.account.Get(ctx, client.ObjectKeyFromObject(lease), lease); !apierrors.IsForbidden(err) {
			return fmt.Errorf("%w: %w", errPermitted, err)
		}
		return nil
	})
}

// ready returns the page /readyz of the agent.
func (m *testMember) ready(ctx context.Context) (string, error) {
	_, text, err := kit.Page(ctx, "http://"+m.health+"/readyz")
	return text, err
}

// checkMemory returns an error while the resident memory of the agent is above its bound.
func (m *testMember) checkMemory() error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.agent.PID()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a system without /proc
	}
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	resident, err := strconv.Atoi(strings.Fields(rest)[0])
	if err == nil && resident > residentLimitKiB {
		err = fmt.Errorf("%w: the agent has %d KiB resident, want at most %d", errNotReported, resident, residentLimitKiB)
	}
	return err
}

// newAddOn stores an add-on of a cluster.
func (t *testHub) newAddOn(cluster, name, namespace string) *addonv1alpha1.ManagedClusterAddOn {
	t.t.Helper()
	out := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: name}}
	out.Spec.InstallNamespace = namespace
	t.AwaitCreated(out)
	return out
}

// customize sets the mode of an add-on that writes its health itself.
func (t *testHub) customize(addOn *addonv1alpha1.ManagedClusterAddOn) {
	t.t.Helper()
	before := addOn.DeepCopy()
	addOn.Status.HealthCheck.Mode = addonv1alpha1.HealthCheckModeCustomized
	t.MustPatchStatus(addOn, client.MergeFrom(before))
}

// TestTheHealthOfAnAddOnFollowsItsLease has add-ons in each state, and then changes their Leases. All of them change in one reading.
func TestTheHealthOfAnAddOnFollowsItsLease(t *testing.T) {
	const (
		updated, stopped, missing = addonv1alpha1.AvailableReasonLeaseUpdated, addonv1alpha1.AvailableReasonLeaseUpdateStopped,
			addonv1alpha1.AvailableReasonLeaseNotFound
		yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
		usual            = addonv1alpha1.DefaultInstallNamespace
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
	fresh, steady, old, late := s.newAddOn("edge", "fresh", ""), s.newAddOn("edge", "steady", usual), s.newAddOn("edge", "old", "elsewhere"),
		s.newAddOn("edge", "late", "elsewhere")
	s.awaitHealth(fresh, yes, updated)
	s.awaitHealth(steady, yes, updated)
	s.awaitHealth(old, no, stopped)
	s.awaitHealth(late, unknown, missing)
	s.awaitLabel("edge", "fresh", "available")
	s.awaitLabel("edge", "old", "unhealthy")
	s.awaitLabel("edge", "late", "unreachable")

	t.Log("the next reading")
	former := steady.ResourceVersion
	m.MustDelete(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: usual, Name: "fresh"}})
	m.renew("elsewhere", "old", time.Now().Add(-9*time.Minute)) // a clock of the member that is behind
	m.renew("elsewhere", "late", time.Now())
	s.awaitHealth(fresh, unknown, missing)
	s.awaitHealth(old, yes, updated)
	s.awaitHealth(late, yes, updated)
	s.awaitLabel("edge", "fresh", "unreachable")
	s.awaitLabel("edge", "old", "available")

	s.MustRead(steady)
	if steady.ResourceVersion != former {
		t.Error("an add-on whose health did not change was written")
	}
	s.awaitHealth(customized, no, "Test")
	s.awaitLabel("edge", "customized", "unhealthy")
	s.MustDelete(old)
	s.AwaitGone(old)
	s.awaitLabel("edge", "old", "")
	// writes and deletions leave garbage for a while
	s.Await("the memory of the agent is bounded", func(context.Context) error { return m.checkMemory() })
	t.Log("a Lease that the agent may not read")
	m.forbidLeases()
	m.renew(usual, "unreadable", time.Now())
	unreadable := s.newAddOn("edge", "unreadable", "")
	s.Await("the agent's page reports the Leases that it may not read", func(ctx context.Context) error {
		text, err := m.ready(ctx)
		if err == nil && (!strings.HasPrefix(text, "ok\n") || !strings.Contains(text, "may not get the Leases")) {
			err = fmt.Errorf("%w: /readyz of the agent is %s", errNotReported, text)
		}
		return err
	})
	s.awaitLabel("edge", "unreadable", "unreachable")
	s.MustRead(unreadable)
	if len(unreadable.Status.Conditions) > 0 {
		t.Errorf("an add-on whose Lease is not read has %+v", unreadable.Status.Conditions)
	}
	if log := m.agent.Log(); strings.Contains(log, "level=ERROR") {
		t.Errorf("the log of the agent:\n%s", log)
	}
}
