package plan_test

import (
	"strings"
	"testing"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/plan"
)

// stored returns a state after a plan was applied.
func stored(t *testing.T, w *enginetest.State) (placement *clusterv1beta1.Placement, slices []*clusterv1beta1.PlacementDecision) {
	t.Helper()
	placement = w.Placements[enginetest.OnlyPlacement(t, w)]
	for _, write := range plan.Diff(enginetest.Decide(t, w), w.Stored(enginetest.OnlyPlacement(t, w)), w.Now).Writes {
		switch {
		case write.Placement != nil:
			placement = write.Placement
		case write.Verb == plan.UpdateMetadata:
			slices = append(slices, write.Slice)
		}
	}
	return placement, slices
}

// TestMovesAreNamedForWhatTheyAre decides four clusters in groups of two, changes the stored slices, and decides again.
func TestMovesAreNamedForWhatTheyAre(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(placement *clusterv1beta1.Placement, slices []*clusterv1beta1.PlacementDecision) []*clusterv1beta1.PlacementDecision
		// empty empties the slices that are stored, but not those in the snapshot.
		empty bool
		add   string
		want  string
	}{
		"nothing": {want: "added , restored , removed , regrouped "},
		"a slice was deleted": {
			change: func(_ *clusterv1beta1.Placement, slices []*clusterv1beta1.PlacementDecision) []*clusterv1beta1.PlacementDecision {
				return slices[:1]
			},
			want: "added , restored n002 n003, removed , regrouped ",
		},
		"the slices were emptied": {empty: true, want: "added , restored n000 n001 n002 n003, removed , regrouped "},
		"a cluster comes":         {add: "n009", want: "added n009, restored , removed , regrouped "},
		"the status lists no slice": {
			change: func(p *clusterv1beta1.Placement, slices []*clusterv1beta1.PlacementDecision) []*clusterv1beta1.PlacementDecision {
				p.Status.DecisionGroups = nil
				return slices[:1]
			},
			want: "added n002 n003, restored , removed , regrouped ",
		},
		"another strategy": {
			change: func(p *clusterv1beta1.Placement, slices []*clusterv1beta1.PlacementDecision) []*clusterv1beta1.PlacementDecision {
				p.Spec.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup.IntVal = 3
				return slices
			},
			want: "added , restored , removed , regrouped n002: " + plan.RegroupStrategy,
		},
	} {
		t.Run(name, func(t *testing.T) {
			placement, slices := stored(t, hub(p().PerGroup("2"), clusters(0, 4)))
			if tc.change != nil {
				slices = tc.change(placement, slices)
			}
			w := enginetest.NewState(placement, enginetest.Set("all").Obj()).Bind("ns", "all")
			for _, name := range clusters(0, 4) {
				w.Add(enginetest.Cluster(name).In("all").Obj())
			}
			if tc.add != "" {
				w.Add(enginetest.Cluster(tc.add).In("all").Obj())
			}
			for _, slice := range slices {
				w.Add(slice)
			}
			result, stored := enginetest.Decide(t, w), w.Stored(enginetest.OnlyPlacement(t, w))
			for i, slice := range stored.Slices {
				if tc.empty {
					stored.Slices[i] = slice.DeepCopy()
					stored.Slices[i].Status.Decisions = nil
				}
			}
			found := plan.Diff(result, stored, w.Now)
			got := "added " + strings.Join(found.Newcomers(), " ") + ", restored " + strings.Join(found.Restored, " ") +
				", removed " + strings.Join(found.Removed, " ") + ", regrouped " + strings.Join(found.Regrouped, " ")
			if found.RegroupReason != "" {
				got += ": " + found.RegroupReason
			}
			if got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}
