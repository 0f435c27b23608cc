package endtoend

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	// shortGrace makes an agent evict what the hub has lost at once, as far as the brake lets it.
	shortGrace = "--appliedmanifestwork-eviction-grace-period=2s"

	lostMessage, heldMessage = "the hub has lost a work", "evictions are held"
)

// requireHeld requires that the members keep every object, also after a restart of the agents, and report it.
func (h *testHub) requireHeld(w, all wanted, before map[string]map[string]types.UID) {
	h.t.Helper()
	kept := wanted{sets: maps.Clone(all.sets), clusters: all.clusters}
	maps.Copy(kept.sets, w.sets) // the hub has the older template of this set
	for range 2 {
		for _, m := range h.members {
			kit.Await(h.t, "the agent holds its evictions and its cluster reports that", func(ctx context.Context) error {
				if !strings.Contains(m.agent.Log(), heldMessage) {
					return fmt.Errorf("the agent of %s does not report that evictions are held: %w", m.name, errNotYet)
				}
				cluster := &clusterv1.ManagedCluster{}
				if err := h.admin.Get(ctx, client.ObjectKey{Name: m.name}, cluster); err != nil {
					return err
				}
				if !meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionWorkEvictionHeld) {
					return fmt.Errorf("the conditions of %s do not report that evictions are held: %v: %w", m.name, cluster.Status.Conditions, errNotYet)
				}
				_, err := m.check(ctx, kept)
				return err
			})
		}
		h.requireQuiet()
		h.requireSame(before, h.uids(kept))
		for _, m := range h.members {
			m.agent.Kill()
			m.agent.ForgetLog()
			h.startAgent(m)
		}
	}
}

// deliver creates sets, and waits until they are delivered to every member.
func (h *testHub) deliver(sets ...string) wanted {
	h.t.Helper()
	w := wanted{sets: map[string]template{}, clusters: map[string]bool{}}
	for _, m := range h.members {
		w.clusters[m.name] = true
	}
	for _, set := range sets {
		w.sets[set] = newTemplate(set, "1")
		h.createSet(set, w.sets[set])
	}
	h.settle(w)
	return w
}

func newTemplate(set, value string) template {
	return template{plainNamespace + "/" + set: value, "own-" + set + "/inside": value}
}

func numbered(name string, count int) []string {
	out := make([]string, count)
	for i := range out {
		out[i] = fmt.Sprintf("%s-%d", name, i)
	}
	return out
}

// settle waits until everything is as wanted and nothing is written any more.
func (h *testHub) settle(w wanted) {
	h.t.Helper()
	kit.Await(h.t, "everything is as wanted and nothing is written any more", func(ctx context.Context) error { return h.check(ctx, w) })
	h.requireQuiet()
	kit.NoError(h.t, h.check(h.t.Context(), w))
}

// uids returns the UIDs of the objects of each member, which are as wanted.
func (h *testHub) uids(w wanted) map[string]map[string]types.UID {
	h.t.Helper()
	out := map[string]map[string]types.UID{}
	for _, m := range h.members {
		found := kit.Must(m.check(h.t.Context(), w)).In(h.t)
		out[m.name] = found
	}
	return out
}

// requireSame requires that no object that exists was created after an earlier look.
func (h *testHub) requireSame(before, after map[string]map[string]types.UID) {
	h.t.Helper()
	for member, objects := range after {
		for key, uid := range objects {
			if before[member][key] != uid {
				h.t.Errorf("%s of %s was deleted and created again", key, member)
			}
		}
	}
}

// stopHub stops the manager and the hub.
func (h *testHub) stopHub() {
	h.t.Helper()
	h.manager.Stop()
	kit.NoError(h.t, h.hub.Stop())
}

// copyData copies the data of the stopped hub, and returns the folder of the copy.
func (h *testHub) copyData() string {
	h.t.Helper()
	out := filepath.Join(h.t.TempDir(), "copy")
	h.copyFolder(h.data, out)
	return out
}

// restore replaces the data of the stopped hub.
func (h *testHub) restore(from string) {
	h.t.Helper()
	kit.NoError(h.t, os.RemoveAll(h.data))
	h.copyFolder(from, h.data)
}

// copyFolder copies a folder with the permissions of its files.
func (h *testHub) copyFolder(from, to string) {
	h.t.Helper()
	if printed, err := exec.CommandContext(h.t.Context(), "cp", "-a", from, to).CombinedOutput(); err != nil {
		h.t.Fatalf("copying %s: %v: %s", from, err, printed)
	}
}

// awaitAgents waits until every agent follows the hub again: it has applied a work that the test creates.
func (h *testHub) awaitAgents() {
	h.t.Helper()
	for _, m := range h.members {
		work := kit.Work(m.name, "probe")
		work.Spec.Workload = template{plainNamespace + "/probe": ""}.spec()
		kit.Await(h.t, "the work is created", func(ctx context.Context) error { return h.admin.Create(ctx, work) })
		kit.Await(h.t, "the agent has applied the work", func(ctx context.Context) error {
			return h.applied(ctx, client.ObjectKeyFromObject(work))
		})
		h.admin.MustDelete(work)
		kit.Await(h.t, "the work is gone", func(ctx context.Context) error { return h.gone(ctx, client.ObjectKeyFromObject(work)) })
	}
}
