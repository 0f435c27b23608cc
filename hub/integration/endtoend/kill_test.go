//go:build slow

package endtoend

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	maxKills = 3
	// hubRound is the round in which the hub is killed, unless it was before.
	hubRound = 5
)

// TestEverythingIsDeliveredOnceWhateverIsKilled changes sets and decisions, and kills the hub, the manager and the agents meanwhile. After
// each rollout every object that should exist exists once and is on record, nothing else exists, an object that was to stay was not created
// again, and no write is repeated.
func TestEverythingIsDeliveredOnceWhateverIsKilled(t *testing.T) {
	rounds := 10
	if hubtest.LongTests() {
		rounds = 200
	}
	fresh := *seed
	if fresh == 0 {
		fresh = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat the run with -seed %d", fresh)
	h := newTestHub(t)
	r := &run{
		testHub: h, random: rand.New(rand.NewPCG(fresh, 1)), kills: map[string]int{},
		want: wanted{sets: map[string]template{}, clusters: map[string]bool{}},
	}
	for _, m := range h.members {
		r.want.clusters[m.name] = true
	}
	for round := range rounds {
		r.round(round)
	}
	t.Logf("%d rollouts with these kills: %v", rounds, r.kills)
	if len(r.kills) < 3 || r.kills["hub"] == 0 || r.kills["manager"] == 0 {
		t.Errorf("only %v were killed", r.kills)
	}
}

// run is a hub, its random changes, and the state they lead to.
type run struct {
	*testHub

	random *rand.Rand
	kills  map[string]int
	want   wanted
	// last are the UIDs of the objects of each member after the last round.
	last map[string]map[string]types.UID
}

// round makes one rollout.
func (r *run) round(number int) {
	r.t.Helper()
	stay := map[string]map[string]string{}
	for _, m := range r.members {
		stay[m.name] = r.want.deliveredTo(m.name)
	}
	actions := r.change(number)
	for range 1 + r.random.IntN(maxKills) {
		time.Sleep(time.Duration(r.random.Int64N(int64(maxPause))))
		actions = append(actions, r.kill(number == hubRound && r.kills["hub"] == 0))
	}
	r.t.Logf("round %d: %s", number, strings.Join(actions, "; "))
	r.reviveManager()
	r.settle(r.want)
	r.compareUIDs(stay)
}

// compareUIDs requires that an object which was and is delivered is the same object.
func (r *run) compareUIDs(stay map[string]map[string]string) {
	r.t.Helper()
	now := r.uids(r.want)
	for member, objects := range now {
		for key, uid := range objects {
			if _, was := stay[member][key]; was && uid != r.last[member][key] {
				r.t.Errorf("%s of %s was deleted and created again", key, member)
			}
		}
	}
	r.last = now
}

// change changes the sets and the selected clusters, and returns what it did. The first round creates the first set.
func (r *run) change(number int) []string {
	r.t.Helper()
	var out []string
	for _, name := range []string{"all", progressiveSet} {
		_, exists := r.want.sets[name]
		switch choice := r.random.IntN(5); {
		case !exists && (number == 0 || choice < 3):
			out = append(out, "create set "+name)
			r.want.sets[name] = r.template(name, number)
			r.createSet(name, r.want.sets[name])
		case exists && choice == 0 && len(r.want.sets) > 1:
			out = append(out, "delete set "+name)
			delete(r.want.sets, name)
			set := kit.WorkSet(setNamespace, name)
			kit.Await(r.t, "the set is deleted", func(ctx context.Context) error { return client.IgnoreNotFound(r.admin.Delete(ctx, set)) })
		case exists:
			out = append(out, "change set "+name)
			r.want.sets[name] = r.template(name, number)
			r.changeSet(name, r.want.sets[name])
		}
	}
	if number > 0 && r.random.IntN(2) == 0 {
		out = append(out, r.toggleCluster())
	}
	return out
}

// template returns a template with an object that always stays, objects that come and go, and at times a namespace.
func (r *run) template(set string, number int) template {
	value := fmt.Sprint(number)
	out := template{plainNamespace + "/" + set + "-stays": value}
	for i := range 4 {
		if r.random.IntN(2) == 0 {
			out[fmt.Sprintf("%s/%s-%d", plainNamespace, set, i)] = value
		}
	}
	if r.random.IntN(3) == 0 {
		out["own-"+set+"/inside"] = value
	}
	return out
}

// toggleCluster selects a cluster, or selects it no more. One is always selected.
func (r *run) toggleCluster() string {
	r.t.Helper()
	name := r.members[r.random.IntN(members)].name
	after := maps.Clone(r.want.clusters)
	after[name] = !after[name]
	if !slices.Contains(slices.Collect(maps.Values(after)), true) {
		return name + " stays selected"
	}
	r.want.clusters = after
	value := map[bool]string{true: "yes", false: "no"}[after[name]]
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, selectedLabel, value)
	kit.Await(r.t, "the label of the cluster is changed", func(ctx context.Context) error {
		return r.admin.Patch(ctx, kit.Cluster(name), client.RawPatch(types.MergePatchType, patch))
	})
	return name + " selected: " + value
}

// kill kills a process and starts it again, the hub less often than the others, or where it is due.
func (r *run) kill(hubIsDue bool) string {
	r.t.Helper()
	var victim string
	switch choice := r.random.IntN(7); {
	case choice == 0 || hubIsDue:
		victim = "hub"
		r.hub.Kill()
		if r.random.IntN(2) == 0 {
			r.killManager()
			r.startHub()
			r.startManager()
		} else {
			r.startHub()
		}
	case choice < 4:
		victim = "manager"
		r.killManager()
		r.startManager()
	default:
		m := r.members[r.random.IntN(members)]
		victim = "agent of " + m.name
		m.agent.Kill()
		r.startAgent(m)
	}
	r.kills[victim]++
	return "kill " + victim
}
