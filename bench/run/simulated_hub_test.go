package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/cli/generate"
	"github.com/berth-project/berth/internal/placement/live"
)

// workers is how many placements are decided side by side, as by a manager.
const workers = 24

// simulatedHub is a run without processes. Its hub is a world in memory. Its manager receives every write at once, and decides
// on request.
type simulatedHub struct {
	*hubRun
	t      *testing.T
	random *rand.Rand
	stored *enginetest.World
	world  *live.State
	queued map[fleet.Key]bool
	// seen is the fleet at the last decision of a placement.
	seen    map[fleet.Key]*fleet.Snapshot
	version int
}

// newSimulatedHub stores a fleet of some hundred clusters and placements, and lets the manager decide all.
func newSimulatedHub(t *testing.T, seed uint64) *simulatedHub {
	t.Helper()
	f := generate.New(generate.Shape{Clusters: 300, Placements: 600, ScoredPercent: scoredPercent, Seed: seed})
	r := &simulatedHub{
		t: t, random: rand.New(rand.NewPCG(seed, 0)),
		stored: enginetest.NewWorld(), queued: map[fleet.Key]bool{}, seen: map[fleet.Key]*fleet.Snapshot{},
	}
	r.hubRun = &hubRun{hubPair: &hubPair{fleet: f, managed: &measuredHub{admin: fakeClient{simulatedHub: r}}}, options: Options{Progress: io.Discard}, created: f.Placements}
	enqueue := func(key fleet.Key, _ explain.Cause) { r.queued[key] = true }
	r.world = live.New(enginetest.Env(t), enqueue, enqueue)
	for _, set := range f.Sets {
		r.stored.Add(set)
		r.world.SetSet(nil, set)
	}
	for _, binding := range f.Bindings {
		r.stored.Add(binding)
		r.world.SetBinding(binding)
	}
	for _, cluster := range f.Clusters {
		r.clusters = append(r.clusters, cluster.DeepCopy())
		r.put(cluster.DeepCopy())
	}
	for _, score := range f.Scores {
		r.put(score.DeepCopy())
	}
	for _, placement := range f.Placements {
		r.put(placement.DeepCopy())
	}
	r.world.Ready()
	r.drainQueue()
	return r
}

// put stores an object and shows it to the manager.
func (r *simulatedHub) put(object client.Object) {
	r.version++
	object.SetResourceVersion(strconv.Itoa(r.version))
	if object.GetUID() == "" {
		object.SetUID(types.UID(fmt.Sprintf("uid-%d", r.version)))
	}
	r.stored.Add(object)
	switch o := object.(type) {
	case *clusterv1.ManagedCluster:
		r.world.SetCluster(o)
	case *clusterv1alpha1.AddOnPlacementScore:
		r.world.SetScore(o)
	case *clusterv1beta1.Placement:
		r.world.AfterStatusWrite(o)
		r.world.SetPlacement(o)
	case *clusterv1beta1.PlacementDecision:
		r.world.AfterWrite(o)
		r.world.SetSlice(o)
	default:
		r.t.Fatalf("no place for %T", object)
	}
}

// applyChange makes a change, its writes in a random order, while the manager decides some of the enqueued placements.
func (r *simulatedHub) applyChange(next func(context.Context, *hubRun, int) (change, error), round int) {
	r.t.Helper()
	c, err := next(r.t.Context(), r.hubRun, round)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, i := range r.random.Perm(c.writes) {
		if err := c.write(r.t.Context(), r.managed.admin, i); err != nil {
			r.t.Fatalf("%s: %v", c.name, err)
		}
		if r.random.IntN(4) == 0 {
			r.decideQueued()
		}
	}
	r.drainQueue()
}

// drainQueue lets the manager decide until its queue is empty.
func (r *simulatedHub) drainQueue() {
	r.t.Helper()
	for turns := 0; len(r.queued) > 0; turns++ {
		if turns > 10*len(r.stored.Placements) {
			r.t.Fatalf("the queue never becomes empty: %v", r.queued)
		}
		r.decideQueued()
	}
}

// decideQueued decides as many placements as there are workers. No worker reads the concurrent writes of the others.
func (r *simulatedHub) decideQueued() {
	queued := slices.SortedFunc(maps.Keys(r.queued), fleet.Key.Compare)
	r.random.Shuffle(len(queued), func(i, j int) { queued[i], queued[j] = queued[j], queued[i] })
	taken := queued[:min(len(queued), 1+r.random.IntN(workers))]
	cases := make([]live.Input, 0, len(taken))
	for _, key := range taken {
		delete(r.queued, key)
		c, ok := r.world.Gather(key, r.stored.Now)
		if !ok || c.Program == nil {
			r.t.Fatalf("%s cannot be decided: %v", key, c.Faults)
		}
		cases = append(cases, c)
	}
	for i, c := range cases {
		r.seen[taken[i]] = c.Snapshot
		writes := plan.Diff(engine.Schedule(c.Snapshot, c.Program, plan.ReadLedger(c.Stored.Placement)), c.Stored, r.stored.Now)
		for _, write := range writes.Writes {
			r.applyWrite(write)
		}
		r.world.AfterApply(c.Stored, writes)
		r.world.Finish(taken[i], false)
	}
}

// applyWrite stores a write of a plan.
func (r *simulatedHub) applyWrite(write plan.Write) {
	r.stored.Apply(write)
	if write.Placement != nil {
		r.put(write.Placement.DeepCopy())
		return
	}
	if object := r.stored.Slices[fleet.Key{Namespace: write.Slice.Namespace, Name: write.Slice.Name}]; object != nil {
		r.put(object.DeepCopy())
		return
	}
	r.world.AfterDelete(write.Slice)
	r.world.DeleteSlice(write.Slice)
}

// fakeClient is a client of a simulated hub. It supports the requests of changes.
type fakeClient struct {
	client.WithWatch

	*simulatedHub
}

func (s fakeClient) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	out, ok := list.(*clusterv1beta1.PlacementDecisionList)
	if !ok {
		return fmt.Errorf("%w: %T", errUnsupported, list)
	}
	for _, slice := range s.stored.Slices {
		out.Items = append(out.Items, *slice)
	}
	return nil
}

var errUnsupported = errors.New("a simulated hub has no such objects")

// Patch applies a merge patch to an object. No change removes a field.
func (s fakeClient) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	var next client.Object
	switch o := object.(type) {
	case *clusterv1.ManagedCluster:
		next = s.stored.Clusters[o.Name].DeepCopy()
	case *clusterv1alpha1.AddOnPlacementScore:
		next = s.stored.Scores[enginetest.ScoreKey{Cluster: o.Namespace, Resource: o.Name}].DeepCopy()
	default:
		return fmt.Errorf("%w: %T", errUnsupported, object)
	}
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, next); err != nil {
		return err
	}
	s.put(next)
	return nil
}

func (s fakeClient) Status() client.SubResourceWriter { return fakeStatusWriter{client: s} }

// fakeStatusWriter writes the status of stored objects.
type fakeStatusWriter struct {
	client.SubResourceWriter

	client fakeClient
}

func (s fakeStatusWriter) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.client.Patch(ctx, object, patch)
}
