package selection_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/plan"
)

func stable(seconds int32) shape {
	return func(s *clusterv1beta1.PlacementSpec) {
		s.FailbackPolicy = &clusterv1beta1.FailbackPolicy{StabilizationSeconds: &seconds}
	}
}

func TestAnEarlierTierTakesOverOnceItHasQualifiedForLongEnough(t *testing.T) {
	const homes, rented = "h1 tier=home\nh2 tier=home", "r1 tier=rented\nr2 tier=rented"
	w := fleetWith(rented, nil, wanted(2), tiers("home", "rented"), stable(60))
	key := enginetest.OnlyPlacement(t, w)
	run := func(after time.Duration) []string {
		t.Helper()
		w.At(enginetest.Epoch.Add(after))
		for _, write := range plan.Diff(decide(t, w), w.Stored(key), w.Now).Writes {
			w.Apply(write)
		}
		return plan.Clusters(w.SlicesOf(key)[0])
	}
	for _, step := range []struct {
		after time.Duration
		comes string // clusters that come or change
		goes  string // the cluster that goes
		want  string
	}{
		{after: 0, want: "r1 r2"},
		{after: time.Second, comes: homes, want: "r1 r2"},
		{after: time.Minute, want: "r1 r2"},
		{after: time.Minute, comes: "h2 tier=home bad", want: "r1 r2"}, // it fails, and starts anew
		{after: time.Minute, comes: "h2 tier=home", want: "r1 r2"},
		{after: time.Minute + time.Second, want: "h1 r1"},
		{after: time.Minute + time.Second, goes: "r1", want: "h1 h2"}, // a free place does not wait
		{after: time.Minute + 2*time.Second, comes: "h1 tier=home bad", want: "h2 r2"},
		{after: time.Minute + 2*time.Second, comes: "h1 tier=home", want: "h2 r2"},
		{after: 2*time.Minute + 2*time.Second, want: "h1 h2"},
	} {
		for _, cluster := range parse(step.comes) {
			w.Add(cluster)
		}
		delete(w.Clusters, step.goes)
		if diff := cmp.Diff(strings.Fields(step.want), run(step.after)); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", step.after, diff)
		}
	}
}

func TestAClusterThatTakesAFreePlaceDisplacesNone(t *testing.T) {
	for name, tc := range map[string]struct{ clusters, want, later string }{
		"a free place does not wait":                            {"h tier=home\nr tier=rented cpu=5\ns tier=rented cpu=1", "h r", "h r"},
		"save where the next in line would displace an earlier": {"h tier=home\nr tier=rented cpu=1\ns tier=rented cpu=5", "r s", "h s"},
	} {
		t.Run(name, func(t *testing.T) {
			w := fleetWith(tc.clusters, []string{"r"}, wanted(2), tiers("home", "rented"), stable(60), exact, byCPU(1))
			key := enginetest.OnlyPlacement(t, w)
			w.Placements[key].Status = enginetest.Placement("ns", "p").Decided().Obj().Status
			for after, want := range []string{tc.want, tc.want, tc.later} {
				w.At(enginetest.Epoch.Add(time.Duration(after) * 30 * time.Second))
				for _, write := range plan.Diff(decide(t, w), w.Stored(key), w.Now).Writes {
					w.Apply(write)
				}
				if diff := cmp.Diff(strings.Fields(want), plan.Clusters(w.SlicesOf(key)[0])); diff != "" {
					t.Errorf("after %v (-want +got):\n%s", w.Now.Sub(enginetest.Epoch), diff)
				}
			}
		})
	}
}

func TestAWaitingClusterHasAnEnd(t *testing.T) {
	w := fleetWith("h tier=home\nr tier=rented", []string{"r"}, wanted(1), tiers("home", "rented"), stable(60))
	placement := w.Placements[enginetest.OnlyPlacement(t, w)]
	result := decide(t, w) // the spec is new: no cluster waits
	if diff := cmp.Diff([]string{"h"}, result.Clusters()); diff != "" {
		t.Errorf("after a change of the spec (-want +got):\n%s", diff)
	}
	for _, write := range plan.Diff(result, w.Stored(result.Key), w.Now).Writes {
		if write.Verb == plan.UpdateStatus {
			w.Apply(write) // as if only the status had been stored for this very spec
		}
	}
	result = decide(t, w)
	if diff := cmp.Diff(map[string]string{"h": "Waiting until 1m0s"}, verdicts(result)); diff != "" {
		t.Errorf("verdicts of %s (-want +got):\n%s", placement.Name, diff)
	}
	if want := enginetest.Epoch.Add(time.Minute); !result.RecheckAt.Equal(want) {
		t.Errorf("looks again at %v, want %v", result.RecheckAt, want)
	}
}
