//go:build slow

package endtoend

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/kube/process"
	"github.com/berth-project/berth/internal/membership/join"
)

const (
	// simulatedClusters have no agent. simulatedLabel is on them.
	simulatedClusters = 9
	simulatedLabel    = "simulated"
	// ballast is how many scores are moved before the placements, so that an export takes a while.
	ballast = 150
	// longLease lets an agent be silent during a test without a taint.
	longLease = 600
)

// newEmbeddedHub starts a hub with its manager in one process, and members with their agents.
func newEmbeddedHub(t *testing.T) *testHub {
	t.Helper()
	h := newEmptyHub(t)
	for i := range members {
		h.joinByToken(joining{name: fmt.Sprintf("member-%d", i)})
	}
	h.awaitAvailable()
	return h
}

// newEmptyHub starts a hub with its manager in one process, and without members.
func newEmptyHub(t *testing.T, args ...string) *testHub {
	t.Helper()
	h := &testHub{t: t, data: t.TempDir(), agentArgs: []string{shortGrace}}
	hub := kit.Must(hubtest.Start(t.Context(), hubtest.Options{DataDir: h.data, Manager: true, TaintUnjoined: true, Args: args})).In(t)
	h.hub, h.admin = hub, kit.New(t, hub)
	t.Cleanup(func() {
		if err := hub.Stop(); err != nil {
			t.Error(err)
		}
	})
	h.createPlacement()
	return h
}

// awaitAvailable waits until every member is available.
func (h *testHub) awaitAvailable() {
	h.t.Helper()
	for _, m := range h.members {
		cluster := kit.Cluster(m.name)
		h.admin.AwaitObject(cluster, "every member is available", func() error {
			if !meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable) || len(cluster.Spec.Taints) > 0 {
				return fmt.Errorf("%s is not available: %+v: %w", m.name, cluster, errNotYet)
			}
			return nil
		})
	}
}

// joining is how a member joins.
type joining struct {
	name string
	// driver is how its agent authenticates; empty is a certificate.
	driver string
	// through is the proxy between the agent and its hubs; it may be nil.
	through *tlsProxy
}

// joinByToken starts a member whose agent joins as that of a user does, with a token in a bootstrap kubeconfig that stays.
func (h *testHub) joinByToken(of joining) {
	h.t.Helper()
	m := h.newMember(of.name)
	to := kit.Must(join.NewClient(h.hub.Config())).In(h.t)
	endpoint := kit.Must(join.FindEndpoint(h.t.Context(), to, h.hub.Config())).In(h.t)
	token, _, err := join.Token{
		Cluster: of.name, Driver: of.driver, TTL: time.Hour,
		Labels: map[string]string{selectedLabel: "yes"},
	}.Create(h.t.Context(), to)
	if err != nil {
		h.t.Fatal(err)
	}
	text := kit.Must(join.BootstrapKubeconfig(endpoint, token)).In(h.t)
	if of.through != nil {
		text = of.through.between(h.t, text)
	}
	path := filepath.Join(h.t.TempDir(), "bootstrap.kubeconfig")
	kit.NoError(h.t, os.WriteFile(path, text, 0o600))
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"hubAcceptsClient":true,"leaseDurationSeconds":%d}}`,
		longLease))
	h.admin.MustPatch(kit.Cluster(of.name), patch)
	m.args = []string{"--cluster-name=" + of.name, "--bootstrap-kubeconfig=" + path}
	if of.driver != "" {
		m.args = append(m.args, "--driver="+of.driver)
	}
	h.members = append(h.members, m)
	h.startAgent(m)
}

// createDecisions stores simulated clusters, and placements over them whose decisions depend on what was selected before.
func (h *testHub) createDecisions() {
	h.t.Helper()
	for i := range simulatedClusters {
		h.admin.MustCreate(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("simulated-%d", i), Labels: map[string]string{simulatedLabel: "yes"},
			Annotations: map[string]string{clusterv1.SimulatedAnnotationKey: "true"},
		}})
	}
	for name, number := range map[string]int32{"two": 2, "four": 4, "all": simulatedClusters} {
		placement := kit.Placement(setNamespace, name)
		predicate := clusterv1beta1.ClusterPredicate{}
		predicate.RequiredClusterSelector.LabelSelector.MatchLabels = map[string]string{simulatedLabel: "yes"}
		placement.Spec.Predicates = []clusterv1beta1.ClusterPredicate{predicate}
		placement.Spec.NumberOfClusters = &number
		placement.Spec.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup = intstr.FromInt32(3)
		h.admin.MustCreate(placement)
	}
	h.hub.AwaitFixedPoint(h.t, testTimeout)
	// The best clusters become the worst, which a decision that starts anew would leave out.
	for i := range 3 {
		patch := client.RawPatch("application/merge-patch+json", []byte(
			`{"spec":{"taints":[{"key":"example.com/draining","effect":"NoSelectIfNew"}]}}`))
		cluster := kit.Cluster(fmt.Sprintf("simulated-%d", i))
		h.admin.MustPatch(cluster, patch)
	}
	for i := range ballast {
		score := &clusterv1alpha1.AddOnPlacementScore{ObjectMeta: metav1.ObjectMeta{Namespace: setNamespace, Name: fmt.Sprintf("score-%03d", i)}}
		h.admin.MustCreate(score)
		score.Status.Scores = []clusterv1alpha1.AddOnPlacementScoreItem{{Name: "cpu", Value: int32(i % 100)}}
		h.admin.MustUpdateStatus(score)
	}
	h.hub.AwaitFixedPoint(h.t, testTimeout)
}

// decisions returns what every reader of a hub sees of its placements.
func (h *testHub) decisions() map[string]string {
	h.t.Helper()
	found, placements := &clusterv1beta1.PlacementDecisionList{}, &clusterv1beta1.PlacementList{}
	h.admin.MustList(found)
	h.admin.MustList(placements)
	out := map[string]string{}
	for i := range found.Items {
		slice := &found.Items[i]
		out["slice "+slice.Namespace+"/"+slice.Name] = fmt.Sprint(slice.Labels, slice.Status.Decisions)
	}
	for i := range placements.Items {
		p := &placements.Items[i]
		text := fmt.Sprint(p.Status.NumberOfSelectedClusters, p.Status.DecisionGroups)
		for _, condition := range p.Status.Conditions {
			text += fmt.Sprint(" ", condition.Type, condition.Status, condition.Reason, condition.LastTransitionTime.UTC(),
				condition.ObservedGeneration == p.Generation)
		}
		out["placement "+p.Namespace+"/"+p.Name] = text
	}
	return out
}

// records returns the names of the records of every member.
func (h *testHub) records() []string {
	h.t.Helper()
	var out []string
	for _, m := range h.members {
		found := &workv1.AppliedManifestWorkList{}
		m.MustList(found)
		for i := range found.Items {
			out = append(out, m.name+" "+found.Items[i].Name+" "+string(found.Items[i].UID))
		}
	}
	slices.Sort(out)
	return out
}

// removals collects the ConfigMaps, namespaces and records that are deleted on any member.
type removals struct {
	mu    sync.Mutex
	found []string
}

func (h *testHub) watchRemovals() *removals {
	h.t.Helper()
	out := &removals{}
	for _, m := range h.members {
		for _, list := range []client.ObjectList{&corev1.ConfigMapList{}, &corev1.NamespaceList{}, &workv1.AppliedManifestWorkList{}} {
			watcher := kit.Must(m.Watch(h.t.Context(), list)).In(h.t)
			h.t.Cleanup(watcher.Stop)
			go out.collect(m.name, watcher)
		}
	}
	return out
}

func (r *removals) collect(member string, from watch.Interface) {
	for event := range from.ResultChan() {
		object, ok := event.Object.(client.Object)
		if event.Type == watch.Error || event.Type == watch.Deleted || ok && !object.GetDeletionTimestamp().IsZero() {
			r.mu.Lock()
			r.found = append(r.found, fmt.Sprintf("%s: %s %T %v", member, event.Type, event.Object, event.Object))
			r.mu.Unlock()
		}
	}
}

func (r *removals) require(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.found) > 0 {
		t.Errorf("deleted on the members: %v", r.found)
	}
}

// target is a Kubernetes with what the chart installs, whose manager is started again when it ends, as a kubelet would.
type target struct {
	*hubtest.Hub
	t       *testing.T
	admin   *kit.Client
	manager *hubtest.Manager
	// webhooks is the address of the webhooks of every manager, as the Service of a cluster is.
	webhooks string
	// args are further flags of every manager.
	args []string
}

func newTarget(t *testing.T, args ...string) *target {
	t.Helper()
	manifests := kit.Must(hubtest.Merge(map[string]fs.FS{
		"delivery": config.Delivery(), "registration": config.Registration(), "webhookroles": config.WebhookRoles(), "probe": config.Probe(),
	})).In(t)
	out := &target{Hub: hubtest.New(t, hubtest.Options{Manifests: manifests}), t: t, webhooks: hubtest.FreeAddress(t), args: args}
	out.admin = kit.For(t, out.Config())
	return out
}

// startManager starts the manager, and waits until it leads or waits for the lease.
func (t *target) startManager() {
	t.t.Helper()
	t.manager = hubtest.StartManager(t.t, t.Hub, hubtest.ManagerOptions{
		TaintUnjoined: true, AllowErrors: true, Shared: true, Args: append([]string{
			"--leader-elect=true", "--leader-elect-lease-duration=30s", "--leader-elect-renew-deadline=25s", // a busy machine must not end it
			"--simulate", "--controllers=*,acceptance,csr,replicaset", "--webhook-bind-address=" + t.webhooks, "--webhook-url=https://" + t.webhooks,
		}, t.args...),
	})
	manager := t.manager
	t.t.Cleanup(func() { manager.Stop(); manager.CheckLog(t.t) })
}

// keepManager starts the manager again after it has lost its lease.
func (t *target) keepManager() {
	t.t.Helper()
	select {
	case <-t.manager.Done():
	case <-time.After(2 * testTimeout):
		t.t.Fatal("the manager of the target does not stop")
	}
	if !strings.Contains(t.manager.Log(), "the lease of the manager is lost") {
		t.t.Fatalf("the manager of the target ended:\n%s", t.manager.Tail())
	}
	t.startManager()
}

// export starts an export to a target.
func (h *testHub) export(to *target, args ...string) *process.Process {
	h.t.Helper()
	binary := kit.Must(hubtest.Binary()).In(h.t)
	args = append([]string{"export", "--data-dir=" + h.data, "--to-kubeconfig=" + to.Kubeconfig()}, args...)
	out := kit.Must(process.Start(h.t.Context(), process.NewOutput(0, ""), binary, args...)).In(h.t)
	h.t.Cleanup(out.Kill)
	return out
}

// exported waits for the end of an export, and returns its exit code and what it printed.
func exported(t *testing.T, running *process.Process) (code int, printed string) {
	t.Helper()
	select {
	case <-running.Done():
	case <-time.After(4 * testTimeout):
		t.Fatalf("the export does not end: %s", running.Output())
	}
	return running.ExitCode(), running.Output().String()
}

// awaitCluster waits until an export has written a cluster.
func (t *target) awaitCluster(name string, by *process.Process) {
	t.t.Helper()
	kit.Await(t.t, "an export has written a cluster", func(ctx context.Context) error {
		err := t.admin.Get(ctx, client.ObjectKey{Name: name}, &clusterv1.ManagedCluster{})
		if err != nil {
			return fmt.Errorf("%w; the export prints %s", err, by.Output())
		}
		return nil
	})
}
