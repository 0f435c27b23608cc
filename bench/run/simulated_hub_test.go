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
	"k8s.io/utils/clock"
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

// simulatedHub is a run without processes. Its hub is in memory. Its manager receives every write at once, and decides
// on request.
type simulatedHub struct {
	*hubRun
	t      *testing.T
	random *rand.Rand
	stored *enginetest.State
	// managerFleet and managerStored are what the manager has.
	managerFleet  *live.Fleet
	managerStored *live.Stored
	queued        map[fleet.Key]bool
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
		stored: enginetest.NewState(), queued: map[fleet.Key]bool{}, seen: map[fleet.Key]*fleet.Snapshot{},
	}
	r.hubRun = &hubRun{
		hubPair: &hubPair{fleet: f, managed: &measuredHub{admin: fakeClient{simulatedHub: r}}},
		options: Options{Progress: io.Discard}, created: f.Placements,
	}
	enqueue := func(key fleet.Key, _ explain.Cause) { r.queued[key] = true }
	r.managerFleet, r.managerStored = live.New(enginetest.Env(t), clock.RealClock{}, enqueue, enqueue)
	for _, set := range f.Sets {
		r.stored.Add(set)
		r.managerFleet.SetSet(nil, set)
	}
	for _, binding := range f.Bindings {
		r.stored.Add(binding)
		r.managerFleet.SetBinding(binding)
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
	r.managerStored.Ready()
	r.drainQueue()
	return r
}

// put stores an object and shows it to the manager.
func (s *simulatedHub) put(object client.Object) {
	s.version++
	object.SetResourceVersion(strconv.Itoa(s.version))
	if object.GetUID() == "" {
		object.SetUID(types.UID(fmt.Sprintf("uid-%d", s.version)))
	}
	s.stored.Add(object)
	switch o := object.(type) {
	case *clusterv1.ManagedCluster:
		s.managerFleet.SetCluster(o)
	case *clusterv1alpha1.AddOnPlacementScore:
		s.managerFleet.SetScore(o)
	case *clusterv1beta1.Placement:
		s.managerStored.AfterStatusWrite(o)
		s.managerStored.SetPlacement(o)
	case *clusterv1beta1.PlacementDecision:
		s.managerStored.AfterWrite(o)
		s.managerStored.SetSlice(o)
	default:
		s.t.Fatalf("no place for %T", object)
	}
}

// applyChange makes a change, its writes in a random order, while the manager decides some of the enqueued placements.
func (s *simulatedHub) applyChange(next func(context.Context, *hubRun, int) (change, error), round int) {
	s.t.Helper()
	c, err := next(s.t.Context(), s.hubRun, round)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, i := range s.random.Perm(c.writes) {
		if err := c.write(s.t.Context(), s.managed.admin, i); err != nil {
			s.t.Fatalf("%s: %v", c.name, err)
		}
		if s.random.IntN(4) == 0 {
			s.decideQueued()
		}
	}
	s.drainQueue()
}

// drainQueue lets the manager decide until its queue is empty.
func (s *simulatedHub) drainQueue() {
	s.t.Helper()
	for turns := 0; len(s.queued) > 0; turns++ {
		if turns > 10*len(s.stored.Placements) {
			s.t.Fatalf("the queue never becomes empty: %v", s.queued)
		}
		s.decideQueued()
	}
}

// decideQueued decides as many placements as there are workers. No worker reads the concurrent writes of the others.
func (s *simulatedHub) decideQueued() {
	queued := slices.SortedFunc(maps.Keys(s.queued), fleet.Key.Compare)
	s.random.Shuffle(len(queued), func(i, j int) { queued[i], queued[j] = queued[j], queued[i] })
	taken := queued[:min(len(queued), 1+s.random.IntN(workers))]
	cases := make([]live.Input, 0, len(taken))
	for _, key := range taken {
		delete(s.queued, key)
		c, ok := s.managerStored.Gather(key, s.stored.Now)
		if !ok || c.Program == nil {
			s.t.Fatalf("%s cannot be decided: %v", key, c.Faults)
		}
		cases = append(cases, c)
	}
	for i, c := range cases {
		s.seen[taken[i]] = c.Snapshot
		writes := plan.Diff(engine.Schedule(c.Snapshot, c.Program, plan.ReadLedger(c.Stored.Placement)), c.Stored, s.stored.Now)
		for _, write := range writes.Writes {
			s.applyWrite(write)
		}
		s.managerStored.AfterApply(c.Stored, writes)
		s.managerStored.Finish(taken[i], false)
	}
}

// applyWrite stores a write of a plan.
func (s *simulatedHub) applyWrite(write plan.Write) {
	s.stored.Apply(write)
	if write.Placement != nil {
		s.put(write.Placement.DeepCopy())
		return
	}
	if object := s.stored.Slices[fleet.Key{Namespace: write.Slice.Namespace, Name: write.Slice.Name}]; object != nil {
		s.put(object.DeepCopy())
		return
	}
	s.managerStored.AfterDelete(write.Slice)
	s.managerStored.DeleteSlice(write.Slice)
}

// fakeClient is a client of a simulated hub. It supports the requests of changes.
type fakeClient struct {
	client.WithWatch

	*simulatedHub
}

func (f fakeClient) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	out, ok := list.(*clusterv1beta1.PlacementDecisionList)
	if !ok {
		return fmt.Errorf("%w: %T", errUnsupported, list)
	}
	for _, slice := range f.stored.Slices {
		out.Items = append(out.Items, *slice)
	}
	return nil
}

var errUnsupported = errors.New("a simulated hub has no such objects")

// Patch applies a merge patch to an object. No change removes a field.
func (f fakeClient) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	var next client.Object
	switch o := object.(type) {
	case *clusterv1.ManagedCluster:
		next = f.stored.Clusters[o.Name].DeepCopy()
	case *clusterv1alpha1.AddOnPlacementScore:
		next = f.stored.Scores[enginetest.ScoreKey{Cluster: o.Namespace, Resource: o.Name}].DeepCopy()
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
	f.put(next)
	return nil
}

func (f fakeClient) Status() client.SubResourceWriter { return fakeStatusWriter{client: f} }

// fakeStatusWriter writes the status of stored objects.
type fakeStatusWriter struct {
	client.SubResourceWriter

	client fakeClient
}

func (s fakeStatusWriter) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.client.Patch(ctx, object, patch)
}
