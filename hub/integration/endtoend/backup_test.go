//go:build slow

package endtoend

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	// loadClusters are clusters without agents, which loadPlacements placements select.
	loadClusters, loadPlacements = 30, 24
	loadLabel                    = "load"
	// maxBackupDelay bounds the time from the start of the load to the backup.
	maxBackupDelay = 3 * time.Second
)

// TestABackupUnderLoadKeepsEveryPlace makes a backup at a random moment while placements change, kills the hub some changes later, and
// restores the backup at another path. Every placement keeps the clusters of the backup, the oracle accepts every decision, the agents
// go on, and no object of a work is deleted.
func TestABackupUnderLoadKeepsEveryPlace(t *testing.T) {
	fresh := *seed
	if fresh == 0 {
		fresh = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat the run with -seed %d", fresh)
	random := rand.New(rand.NewPCG(fresh, 1))
	h := newTestHub(t, shortGrace)
	w := h.deliver("first", "second")
	h.createLoad()
	before := h.uids(w)

	stop := h.changePlacements(fresh)
	time.Sleep(time.Duration(random.Int64N(int64(maxBackupDelay))))
	path := filepath.Join(t.TempDir(), "hub.backup")
	h.berthHub("backup", path, "--data-dir", h.data)
	time.Sleep(time.Duration(random.Int64N(int64(maxPause))))
	h.hub.Kill()
	changes := stop()
	h.killManager()

	h.data = filepath.Join(t.TempDir(), "another", "place")
	h.berthHub("restore", path, "--data-dir", h.data)
	h.startHub()
	restored := h.selections()
	h.startManager()
	h.awaitAgents()
	h.settle(w)
	h.hub.AwaitFixedPoint(t, testTimeout)
	h.requirePlaces(restored)
	h.requireSame(before, h.uids(w))
	for _, m := range h.members {
		if strings.Contains(m.agent.Log(), lostMessage) {
			t.Errorf("the agent of %s reports a lost work", m.name)
		}
	}
	t.Logf("%d changes of placements, %d placements restored", changes, len(restored))
	if changes < loadPlacements {
		t.Errorf("only %d changes of placements", changes)
	}
}

// berthHub runs a command of berth-hub.
func (h *testHub) berthHub(args ...string) {
	h.t.Helper()
	binary := kit.Must(hubtest.Binary()).In(h.t)
	if printed, err := exec.CommandContext(h.t.Context(), binary, args...).CombinedOutput(); err != nil {
		h.t.Fatalf("berth-hub %v: %v: %s", args, err, printed)
	}
}

// createLoad creates clusters and placements, and waits until all placements are decided.
func (h *testHub) createLoad() {
	h.t.Helper()
	for i := range loadClusters {
		cluster := kit.AcceptedCluster(fmt.Sprintf("load-%02d", i), loadLabel, "yes")
		h.admin.MustCreate(cluster)
	}
	for i := range loadPlacements {
		placement := kit.Placement(setNamespace, fmt.Sprintf("load-%02d", i))
		predicate := clusterv1beta1.ClusterPredicate{}
		predicate.RequiredClusterSelector.LabelSelector.MatchLabels = map[string]string{loadLabel: "yes"}
		placement.Spec.Predicates = []clusterv1beta1.ClusterPredicate{predicate}
		placement.Spec.NumberOfClusters = new(int32)
		*placement.Spec.NumberOfClusters = int32(1 + i%10)
		h.admin.MustCreate(placement)
	}
	h.hub.AwaitFixedPoint(h.t, testTimeout)
}

// changePlacements changes how many clusters the placements select, until a write fails. The returned function ends it and returns the
// number of changes. A third of the placements never changes.
func (h *testHub) changePlacements(seed uint64) (stop func() int) {
	ctx, cancel := context.WithCancel(h.t.Context())
	var running sync.WaitGroup
	var changes atomic.Int64
	for worker := range 4 {
		random := rand.New(rand.NewPCG(seed, uint64(2+worker)))
		running.Go(func() {
			for ctx.Err() == nil {
				number := random.IntN(loadPlacements)
				if number%3 == 0 {
					continue
				}
				placement := kit.Placement(setNamespace, fmt.Sprintf("load-%02d", number))
				patch := fmt.Appendf(nil, `{"spec":{"numberOfClusters":%d}}`, 1+random.IntN(loadClusters/2))
				if err := h.admin.Patch(ctx, placement, client.RawPatch(types.MergePatchType, patch)); err != nil {
					return // the hub was killed
				}
				changes.Add(1)
			}
		})
	}
	return func() int {
		cancel()
		running.Wait()
		return int(changes.Load())
	}
}

// selections returns the clusters of each placement, sorted.
func (h *testHub) selections() map[string][]string {
	h.t.Helper()
	slicesOf := &clusterv1beta1.PlacementDecisionList{}
	h.admin.MustList(slicesOf, client.InNamespace(setNamespace))
	out := map[string][]string{}
	for i := range slicesOf.Items {
		name := slicesOf.Items[i].Labels[clusterv1beta1.PlacementLabel]
		for _, decision := range slicesOf.Items[i].Status.Decisions {
			out[name] = append(out[name], decision.ClusterName)
		}
	}
	for name := range out {
		slices.Sort(out[name])
	}
	return out
}

// requirePlaces requires that no placement moved: it has the clusters that were restored, and more or fewer only where the number in its
// spec differs from what the manager had decided when the backup was made.
func (h *testHub) requirePlaces(restored map[string][]string) {
	h.t.Helper()
	now := h.selections()
	if len(restored) != loadPlacements+1 {
		h.t.Errorf("%d placements are restored with decisions: %v", len(restored), slices.Sorted(maps.Keys(restored)))
	}
	for name, was := range restored {
		is := now[name]
		shorter, longer := was, is
		if len(is) < len(was) {
			shorter, longer = is, was
		}
		for _, cluster := range shorter {
			if !slices.Contains(longer, cluster) {
				h.t.Errorf("placement %s had %v in the backup, and has %v", name, was, is)
			}
		}
		if strings.HasPrefix(name, "load-") && len(is) == 0 {
			h.t.Errorf("placement %s has no cluster", name)
		}
	}
}
