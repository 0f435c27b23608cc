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
	"github.com/berth-project/berth/internal/generate"
	"github.com/berth-project/berth/internal/source/live"
)

// workers is how many placements are decided side by side, as by a manager.
const workers = 24

// rehearsal is a story without processes: its hub is a world, and its manager sees at once what is stored there and decides
// when it is told to.
type rehearsal struct {
	*tale
	t      *testing.T
	random *rand.Rand
	stored *enginetest.World
	world  *live.World
	awake  map[fleet.Key]bool
	// seen is the fleet as it was when a placement was last decided.
	seen    map[fleet.Key]*fleet.Snapshot
	version int
}

// rehearse stores a fleet of some hundred clusters and placements, and lets the manager decide all.
func rehearse(t *testing.T, seed uint64) *rehearsal {
	t.Helper()
	f := generate.New(generate.Shape{Clusters: 300, Placements: 600, Scored: scoredPercent, Seed: seed})
	r := &rehearsal{
		t: t, random: rand.New(rand.NewPCG(seed, 0)),
		stored: enginetest.NewWorld(), awake: map[fleet.Key]bool{}, seen: map[fleet.Key]*fleet.Snapshot{},
	}
	r.tale = &tale{pair: &pair{fleet: f, managed: &side{admin: server{rehearsal: r}}}, setting: Setting{Progress: io.Discard}, placed: f.Placements}
	wake := func(key fleet.Key, _ explain.Cause) { r.awake[key] = true }
	r.world = live.New(enginetest.Env(t), wake, wake)
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
		r.store(cluster.DeepCopy())
	}
	for _, score := range f.Scores {
		r.store(score.DeepCopy())
	}
	for _, placement := range f.Placements {
		r.store(placement.DeepCopy())
	}
	r.world.Ready()
	r.rest()
	return r
}

// store stores an object and shows it to the manager.
func (r *rehearsal) store(object client.Object) {
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
		r.world.Reported(o)
		r.world.SetPlacement(o)
	case *clusterv1beta1.PlacementDecision:
		r.world.Stored(o)
		r.world.SetSlice(o)
	default:
		r.t.Fatalf("no place for %T", object)
	}
}

// happen lets a change happen, in any order, while the manager decides some of those whom it wakes.
func (r *rehearsal) happen(next func(context.Context, *tale, int) (change, error), round int) {
	r.t.Helper()
	c, err := next(r.t.Context(), r.tale, round)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, i := range r.random.Perm(c.writes) {
		if err := c.write(r.t.Context(), r.managed.admin, i); err != nil {
			r.t.Fatalf("%s: %v", c.name, err)
		}
		if r.random.IntN(4) == 0 {
			r.decide()
		}
	}
	r.rest()
}

// rest lets the manager decide until nobody is awake.
func (r *rehearsal) rest() {
	r.t.Helper()
	for turns := 0; len(r.awake) > 0; turns++ {
		if turns > 10*len(r.stored.Placements) {
			r.t.Fatalf("no rest: %v are awake", r.awake)
		}
		r.decide()
	}
}

// decide decides as many as there are workers, who see nothing of what the others write meanwhile.
func (r *rehearsal) decide() {
	awake := slices.SortedFunc(maps.Keys(r.awake), fleet.Key.Compare)
	r.random.Shuffle(len(awake), func(i, j int) { awake[i], awake[j] = awake[j], awake[i] })
	taken := awake[:min(len(awake), 1+r.random.IntN(workers))]
	cases := make([]live.Case, 0, len(taken))
	for _, key := range taken {
		delete(r.awake, key)
		c, ok := r.world.Gather(key, r.stored.Now)
		if !ok || c.Program == nil {
			r.t.Fatalf("%s is not to be decided: %v", key, c.Faults)
		}
		cases = append(cases, c)
	}
	for i, c := range cases {
		r.seen[taken[i]] = c.Snapshot
		writes := plan.Diff(engine.Schedule(c.Snapshot, c.Program, plan.ReadLedger(c.Stored.Placement)), c.Stored, r.stored.Now)
		for _, write := range writes.Writes {
			r.carryOut(write)
		}
		r.world.Kept(c.Stored, writes)
		r.world.Settle(taken[i], false)
	}
}

// carryOut stores what a plan writes.
func (r *rehearsal) carryOut(write plan.Write) {
	r.stored.Apply(write)
	if write.Placement != nil {
		r.store(write.Placement.DeepCopy())
		return
	}
	if object := r.stored.Slices[fleet.Key{Namespace: write.Slice.Namespace, Name: write.Slice.Name}]; object != nil {
		r.store(object.DeepCopy())
		return
	}
	r.world.Removed(write.Slice)
	r.world.DeleteSlice(write.Slice)
}

// server is the hub of a rehearsal to its clients: it answers what changes of a fleet ask for.
type server struct {
	client.WithWatch

	*rehearsal
}

func (s server) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	out, ok := list.(*clusterv1beta1.PlacementDecisionList)
	if !ok {
		return fmt.Errorf("%w: %T", errForeign, list)
	}
	for _, slice := range s.stored.Slices {
		out.Items = append(out.Items, *slice)
	}
	return nil
}

var errForeign = errors.New("a rehearsal has none of these")

// Patch puts what a merge patch says into an object. No change takes anything out of one.
func (s server) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	var next client.Object
	switch o := object.(type) {
	case *clusterv1.ManagedCluster:
		next = s.stored.Clusters[o.Name].DeepCopy()
	case *clusterv1alpha1.AddOnPlacementScore:
		next = s.stored.Scores[enginetest.ScoreKey{Cluster: o.Namespace, Resource: o.Name}].DeepCopy()
	default:
		return fmt.Errorf("%w: %T", errForeign, object)
	}
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, next); err != nil {
		return err
	}
	s.store(next)
	return nil
}

func (s server) Status() client.SubResourceWriter { return statusOf{server: s} }

// statusOf writes the statuses of what a server has.
type statusOf struct {
	client.SubResourceWriter

	server server
}

func (s statusOf) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.server.Patch(ctx, object, patch)
}
