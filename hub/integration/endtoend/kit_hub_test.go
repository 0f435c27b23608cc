package endtoend

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	members = 3
	// setNamespace is the namespace of the sets on the hub. plainNamespace exists on every member before its agent starts.
	setNamespace, plainNamespace = "team", "plain"
	placementName                = "members"
	// selectedLabel is the label of the clusters that the placement selects.
	selectedLabel = "run"
)

var errNotYet = errors.New("not yet")

// testHub is a hub, its manager, and its members with their agents.
type testHub struct {
	t       *testing.T
	data    string
	hub     *hubtest.Hub
	admin   *kit.Client
	manager *hubtest.Manager
	// managerKubeconfig and managerLogs are of all managers.
	managerKubeconfig string
	managerLogs       []string
	members           []*testMember
	agentArgs         []string
}

// testMember is a member.
type testMember struct {
	*kit.Client

	name  string
	hub   *hubtest.Hub
	agent *hubtest.Agent
	// metricsAddress is where the agent serves its metrics.
	metricsAddress string
	// args are further flags of its agent.
	args []string
	// initial are the objects that the member had before its agent.
	initial map[types.UID]bool
}

// newTestHub starts a hub with members and their agents.
func newTestHub(t *testing.T, agentArgs ...string) *testHub {
	t.Helper()
	h := &testHub{t: t, data: t.TempDir(), agentArgs: agentArgs}
	h.startHub()
	t.Cleanup(func() {
		if err := h.hub.Stop(); err != nil {
			t.Error(err)
		}
	})
	h.managerKubeconfig = h.hub.WriteKubeconfig(t, h.hub.ManagerConfig(t))
	h.startManager()
	h.createPlacement()
	for i := range members {
		h.join(fmt.Sprintf("member-%d", i))
	}
	return h
}

// startHub starts the hub on its data. The port is in the data too.
func (h *testHub) startHub() {
	h.t.Helper()
	manifests := kit.Must(hubtest.Merge(map[string]fs.FS{"delivery": config.Delivery(), "registration": config.Registration()})).In(h.t)
	hub := kit.Must(hubtest.Start(h.t.Context(), hubtest.Options{DataDir: h.data, Manifests: manifests})).In(h.t)
	h.hub, h.admin = hub, kit.New(h.t, hub)
}

// startManager starts a manager. It logs errors while the hub is down.
func (h *testHub) startManager(args ...string) {
	h.t.Helper()
	h.manager = hubtest.StartManager(h.t, h.hub, hubtest.ManagerOptions{
		Kubeconfig: h.managerKubeconfig, Args: append(args, "--controllers=*,acceptance,csr,replicaset"), AllowErrors: true, Shared: true,
	})
	manager := h.manager
	h.t.Cleanup(func() { manager.Stop(); manager.CheckLog(h.t) })
}

// restartManagerWith replaces the manager by one with further flags.
func (h *testHub) restartManagerWith(args ...string) {
	h.t.Helper()
	h.killManager()
	h.startManager(args...)
}

func (h *testHub) killManager() {
	h.manager.Kill()
	h.managerLogs = append(h.managerLogs, h.manager.Log())
}

// reviveManager starts a manager that has ended, as a kubelet does: it ends where it cannot read the hub at its start, or cannot renew its
// lease.
func (h *testHub) reviveManager() {
	h.t.Helper()
	if !h.manager.Running() {
		h.restartManagerWith()
	}
}

// createPlacement creates the placement of all sets. Its clusters may be silent while the hub is down.
func (h *testHub) createPlacement() {
	h.t.Helper()
	h.admin.MustCreate(kit.Namespace(setNamespace))
	kit.Await(h.t, "the manager has created the set global", func(ctx context.Context) error {
		return h.admin.Get(ctx, client.ObjectKey{Name: clusterv1beta2.GlobalClusterSetName}, &clusterv1beta2.ManagedClusterSet{})
	})
	binding := kit.Binding(setNamespace, clusterv1beta2.GlobalClusterSetName)
	placement := kit.Placement(setNamespace, placementName)
	predicate := clusterv1beta1.ClusterPredicate{}
	predicate.RequiredClusterSelector.LabelSelector.MatchLabels = map[string]string{selectedLabel: "yes"}
	placement.Spec.Predicates = []clusterv1beta1.ClusterPredicate{predicate}
	placement.Spec.Tolerations = []clusterv1beta1.Toleration{{Operator: clusterv1beta1.TolerationOpExists}}
	h.admin.MustCreate(binding, placement)
}

// join starts a member with its agent.
func (h *testHub) join(name string) {
	h.t.Helper()
	m := h.newMember(name)
	cluster := kit.Cluster(name, selectedLabel, "yes")
	cluster.Spec.HubAcceptsClient, cluster.Spec.LeaseDurationSeconds = true, leaseSeconds
	h.admin.MustCreate(cluster)
	m.agent.StoreCredential(h.t, h.hub, name, "a")
	h.members = append(h.members, m)
	h.startAgent(m)
}

// newMember starts a member without its agent.
func (h *testHub) newMember(name string) *testMember {
	h.t.Helper()
	m := &testMember{name: name, agent: hubtest.NewAgent(h.t), metricsAddress: hubtest.FreeAddress(h.t)}
	m.hub = hubtest.New(h.t, hubtest.Options{Manifests: config.MemberCRDs()})
	m.Client = kit.New(h.t, m.hub)
	m.MustCreate(kit.Namespace(plainNamespace))
	_, uids, _, err := m.delivered(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	m.initial = map[types.UID]bool{}
	for _, uid := range uids {
		m.initial[uid] = true
	}
	return m
}

func (h *testHub) startAgent(of *testMember) {
	h.t.Helper()
	args := append([]string{"--health-probe-bind-address=" + of.metricsAddress}, h.agentArgs...)
	of.agent.Start(h.t, of.hub, append(args, of.args...)...)
}
