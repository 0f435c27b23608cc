package delivery

import (
	"fmt"
	"testing"
	"time"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/delivery/plan"
)

var start = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

func TestThePaceBoundsBytes(t *testing.T) {
	const limit, spec = 200_000_000, 500_000
	p := newPace(limit)
	write := func(at time.Time) int {
		count := 0
		for p.take(spec, at) {
			count++
		}
		return count
	}
	if got := write(start); got != limit/spec {
		t.Errorf("%d specs are written at once, want %d", got, limit/spec)
	}
	if got := write(start.Add(time.Second)); got != 2 {
		t.Errorf("%d specs after a second, want 2", got)
	}
	total := 0
	for second := range 300 {
		total += write(start.Add(time.Duration(second+2) * time.Second))
	}
	if total < limit/spec-2 || total > limit/spec+2 {
		t.Errorf("%d specs in 5 minutes, want about %d", total, limit/spec)
	}
	if got := write(start.Add(24 * time.Hour)); got != limit/spec {
		t.Errorf("%d specs after a day, want %d", got, limit/spec)
	}
	if got := write(start); got != 0 {
		t.Errorf("%d specs by a clock that went back", got)
	}
}

func TestThePaceWithoutALimitHoldsNothing(t *testing.T) {
	p := newPace(0)
	for range 1000 {
		if !p.take(1<<30, start) {
			t.Fatal("a spec is held")
		}
	}
}

func TestOnlySpecsAreHeld(t *testing.T) {
	template := &workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: make([]workv1.Manifest, 1)}}
	template.Workload.Manifests[0].Raw = make([]byte, 100)
	s := &specs{hash: "h", stored: templates{"h": template}}
	var writes []plan.Write
	for i := range 5 {
		writes = append(writes, plan.Write{Verb: plan.Update, Cluster: fmt.Sprint(i), Revision: "h", Hash: "h"})
	}
	writes = append(writes, plan.Write{Verb: plan.Delete, Cluster: "gone"}, plan.Write{Verb: plan.UpdateMetadata, Cluster: "labels"})
	admitted, held := newPace(250).admit(s, writes, start)
	var names string
	for _, write := range admitted {
		names += write.Cluster + " "
	}
	if names != "0 1 2 gone labels " || held.clusters != 2 || held.wait != longestHold {
		t.Errorf("admitted %q, held %+v", names, held)
	}
	if admitted, held = newPace(0).admit(s, writes, start); len(admitted) != len(writes) || held.clusters != 0 || held.wait != 0 {
		t.Errorf("%d admitted, held %+v", len(admitted), held)
	}
}
