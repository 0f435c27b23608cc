package brake_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/internal/placement/brake"
)

// placements is how many placements a history has, each of every cluster.
const placements = 5

// event is a cluster that leaves placements for one kind of facts.
type event struct {
	at      time.Time
	cluster string
	set     string
	fact    engine.Fact
}

// departures is a random history of decisions that remove clusters of a bench.
type departures struct {
	*bench
	*rapid.T
	// global is set if the placements have their clusters through the set global alone, which has no brake but that of the hub.
	global bool
	// kept has what a brake keeps of each placement.
	kept map[string]map[string]string
	// wanted are the clusters that decisions remove, and left those that no brake keeps.
	wanted, left []event
}

// step lets time pass, and judges what one decision removes. An edit of the placement removes clusters at any pace.
func (d *departures) step() {
	d.clock.SetTime(d.clock.Now().Add(time.Duration(rapid.IntRange(0, 15).Draw(d.T, "seconds")) * time.Second))
	d.Tick()
	placement := fmt.Sprintf("p%d", rapid.IntRange(0, placements-1).Draw(d.T, "placement"))
	edited := rapid.IntRange(0, 9).Draw(d.T, "edited") == 0
	facts := rapid.SampledFrom([][]engine.Fact{{engine.Labels}, {engine.Taints}, {engine.Labels, engine.Taints}}).Draw(d.T, "facts")
	var leaving []engine.Departure
	for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, 19), 1, 4, rapid.ID[int]).Draw(d.T, "clusters") {
		of := d.leaving(facts[0], i)[0]
		of.Facts = facts
		if d.global {
			of.Sets = []string{"global"}
		}
		leaving = append(leaving, of)
	}
	braked, before := d.Count() > 0, d.kept[placement]
	after := map[string]string{}
	for _, cluster := range d.judge(placement, leaving, func(of *brake.Decision) { of.SameSpec, of.Kept = !edited, before }) {
		after[cluster] = "kept"
	}
	d.kept[placement] = after
	for _, of := range leaving {
		if edited {
			continue
		}
		for _, fact := range of.Facts {
			found := event{d.clock.Now(), of.Cluster, of.Sets[0], fact}
			d.wanted = append(d.wanted, found)
			if _, stays := after[of.Cluster]; !stays {
				d.left = append(d.left, found)
			}
		}
	}
	if tooMany := d.tooMany(d.left); len(tooMany) > 0 {
		d.Errorf("within a minute left %s", strings.Join(tooMany, " and "))
	}
	if !braked && len(after) > 0 && len(d.tooMany(d.wanted)) == 0 {
		d.Errorf("%v stay, though few clusters leave", slices.Sorted(maps.Keys(after)))
	}
}

// tooMany returns of what more than 55 % have left within the last minute.
func (d *departures) tooMany(events []event) []string {
	clusters := map[string]map[string]bool{}
	for _, of := range events {
		if d.clock.Now().Sub(of.at) >= time.Minute {
			continue
		}
		for _, whole := range []string{"the set " + of.set, "the fleet"} {
			what := fmt.Sprintf("most of %s by %s", whole, of.fact)
			if clusters[what] == nil {
				clusters[what] = map[string]bool{}
			}
			clusters[what][of.cluster] = true
		}
	}
	var out []string
	for _, what := range slices.Sorted(maps.Keys(clusters)) {
		all := 20
		if strings.Contains(what, "the set a") || strings.Contains(what, "the set b") {
			all = 10
		}
		if len(clusters[what])*100 > 55*all {
			out = append(out, what)
		}
	}
	return out
}

// TestMostClustersNeverLeaveWithinAMinute follows random decisions: of no set and of no fleet leave most clusters within a minute for one
// kind of facts, and nothing is kept before so many would leave.
func TestMostClustersNeverLeaveWithinAMinute(t *testing.T) {
	const steps = 60
	rapid.Check(t, func(r *rapid.T) {
		d := &departures{
			bench: newBench(0), T: r, global: rapid.Bool().Draw(r, "through the set global"), kept: map[string]map[string]string{},
		}
		for i := range placements {
			name := fmt.Sprintf("p%d", i)
			d.state.Add(enginetest.Placement("ns", name).Obj())
			d.state.Add(enginetest.Slice("ns", name, 1, slices.Sorted(maps.Keys(d.state.Clusters))...).Obj())
		}
		for range steps {
			d.step()
		}
	})
}
