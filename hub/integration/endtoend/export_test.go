//go:build slow

package endtoend

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

// TestAnExportMovesEverythingButTheDecisions moves an embedded hub with members to a Kubernetes whose manager runs. The first export is
// killed in the middle. One agent is off during the move, and follows later.
func TestAnExportMovesEverythingButTheDecisions(t *testing.T) {
	h := newEmbeddedHub(t)
	w := h.deliver("first", progressiveSet)
	h.createDecisions()
	before, decisions, records := h.uids(w), h.decisions(), h.records()
	removed := h.watchRemovals()
	to := newTarget(t)
	to.startManager()
	to.awaitDefaultSet()

	late := h.members[members-1]
	late.agent.Kill()
	h.killAnExport(to)
	code, printed := exported(t, h.export(to, "--timeout=1m"))
	if code != 1 || !strings.Contains(printed, "2 of 3 agents have moved; not yet: "+late.name) {
		t.Fatalf("the export of a hub with an agent that is off = %d: %s", code, printed)
	}
	old := h.hub
	h.hub, h.admin = to.Hub, to.admin
	if diff := cmp.Diff(decisions, h.decisions()); diff != "" {
		t.Errorf("decisions (-hub +target):\n%s", diff)
	}
	requireIdle(t, old, to)

	// The hub is restarted, and hands over the last agent.
	kit.NoError(t, old.Stop())
	old = hubtest.New(t, hubtest.Options{DataDir: h.data, Manager: true, TaintUnjoined: true})
	if !strings.Contains(old.Output(), "This hub has moved to "+to.Config().Host) {
		t.Errorf("the restarted hub prints %q", old.Output())
	}
	h.startAgent(late)
	if code, printed := exported(t, h.export(to, "--timeout=2m")); code != 0 || !strings.Contains(printed, "3 of 3 agents have moved") {
		t.Fatalf("the export after all agents are on = %d: %s", code, printed)
	}
	requireNoHandOver(t, old)
	h.settle(w)
	h.requireSame(before, h.uids(w))
	if diff := cmp.Diff(records, h.records()); diff != "" {
		t.Errorf("records (-hub +target):\n%s", diff)
	}
	if diff := cmp.Diff(decisions, h.decisions()); diff != "" {
		t.Errorf("decisions after the agents have moved (-hub +target):\n%s", diff)
	}
	kit.NoError(t, old.Stop())
	h.requireAtHome(w, before)
	removed.require(t)
}

// awaitDefaultSet waits until the manager of the target works.
func (t *target) awaitDefaultSet() {
	t.t.Helper()
	kit.Await(t.t, "the manager of the target works", func(ctx context.Context) error {
		cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"}}
		if err := t.admin.Create(ctx, cluster, client.DryRunAll); err != nil {
			return err
		}
		if len(cluster.Spec.Taints) == 0 {
			return fmt.Errorf("the target does not taint new clusters: %w", errNotYet)
		}
		return nil
	})
}

// killAnExport kills an export once it has written a cluster. The manager of the target must then hold still.
func (h *testHub) killAnExport(to *target) {
	h.t.Helper()
	running := h.export(to)
	to.keepManager()
	to.awaitCluster(h.members[0].name, running)
	running.Kill()
	works := &workv1.ManifestWorkList{}
	to.admin.MustList(works)
	if len(works.Items) > 0 {
		h.t.Fatalf("the export was killed too late: it has written %d works", len(works.Items))
	}
	holder := holderOf(h.t, to.admin)
	if !strings.HasPrefix(holder, "berth-hub export from ") {
		h.t.Errorf("after the kill, %q holds the lease of the manager of the target", holder)
	}
}

func holderOf(t *testing.T, admin *kit.Client) string {
	t.Helper()
	lease := &coordinationv1.Lease{}
	admin.MustGet(client.ObjectKey{Namespace: "berth-system", Name: "berth-manager"}, lease)
	return *lease.Spec.HolderIdentity
}

// requireIdle requires that a hub that has moved decides nothing and refuses changes.
func requireIdle(t *testing.T, old *hubtest.Hub, to *target) {
	t.Helper()
	admin := kit.New(t, old)
	if holder := holderOf(t, admin); !strings.HasPrefix(holder, "berth-hub export to ") {
		t.Errorf("%q holds the lease of the manager of the hub that has moved", holder)
	}
	placement := kit.Placement(setNamespace, "two")
	change := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"numberOfClusters":1}}`))
	for what, err := range map[string]error{
		"a change of a placement": admin.Patch(t.Context(), placement.DeepCopy(), change),
		"the deletion of a work":  admin.DeleteAllOf(t.Context(), &workv1.ManifestWork{}, client.InNamespace("member-0")),
		"a new cluster":           admin.Create(t.Context(), kit.Cluster("new")),
	} {
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "this hub has moved to "+to.Config().Host) {
			t.Errorf("%s on the hub that has moved: %v, want that it is refused", what, err)
		}
	}
}

// requireNoHandOver requires that nothing is left of the tokens on the hub that has moved.
func requireNoHandOver(t *testing.T, old *hubtest.Hub) {
	t.Helper()
	secrets := &corev1.SecretList{}
	kit.New(t, old).MustList(secrets, client.MatchingFields{metav1.ObjectNameField: registration.HandOverName})
	if len(secrets.Items) > 0 {
		t.Errorf("%d hand-overs are left", len(secrets.Items))
	}
}

// requireAtHome requires that restarted agents stay with the target, although their bootstrap kubeconfig is of the former hub, and that a
// change of a set arrives.
func (h *testHub) requireAtHome(w wanted, before map[string]map[string]types.UID) {
	h.t.Helper()
	for _, m := range h.members {
		m.agent.Kill()
		m.agent.ForgetLog()
		h.startAgent(m)
	}
	w.sets["first"] = newTemplate("first", "2")
	h.changeSet("first", w.sets["first"])
	h.settle(w)
	h.requireSame(before, h.uids(w))
	for _, m := range h.members {
		if log := m.agent.Log(); strings.Contains(log, "bootstrapping") || strings.Contains(log, lostMessage) {
			h.t.Errorf("the agent of %s does not stay with the hub:\n%s", m.name, log)
		}
	}
}

// TestAnExportWritesNothingWhereTheTargetIsOccupied names what the target has of others, and leaves both hubs as they are.
func TestAnExportWritesNothingWhereTheTargetIsOccupied(t *testing.T) {
	h := newEmbeddedHub(t)
	to := newTarget(t)
	to.admin.MustCreate(
		kit.Namespace(setNamespace), kit.Namespace("member-1"),
		kit.Cluster("member-0"),
		kit.Placement(setNamespace, placementName),
	)
	for _, args := range [][]string{{"--dry-run"}, nil} {
		code, printed := exported(t, h.export(to, args...))
		for _, want := range []string{
			"managedclusters that are not of this hub: member-0;", "placements that are not of this hub: team/members;",
			"namespaces that are not of this hub: member-1;", "ManagedCluster ", "nothing was written",
		} {
			if code != 1 || !strings.Contains(printed, want) {
				t.Errorf("export %v = %d, want %q in %s", args, code, want, printed)
			}
		}
	}
	clusters := &clusterv1.ManagedClusterList{}
	if err := to.admin.List(t.Context(), clusters); err != nil || len(clusters.Items) != 1 {
		t.Errorf("the target has %d clusters, %v", len(clusters.Items), err)
	}
	if holder := holderOf(t, h.admin); holder != "berth-hub" {
		t.Errorf("%q holds the lease of the manager of the hub", holder)
	}
}
