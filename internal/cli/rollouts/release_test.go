package rollouts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
)

// TestPassUnproven: a release passes the group that holds the rollout, for the present template and by the name that the group had. Later groups
// have to be proven, and groups of several placements have to be named.
func TestPassUnproven(t *testing.T) {
	gate := func(name string, passed clusterv1alpha1.GatePassage) clusterv1alpha1.GateRecord {
		return clusterv1alpha1.GateRecord{MandatoryDecisionGroup: clusterv1alpha1.MandatoryDecisionGroup{GroupName: name}, Passed: passed}
	}
	byIndex := clusterv1alpha1.GateRecord{Resolved: "canary"}
	cases := map[string]struct {
		placements []clusterv1alpha1.PlacementRolloutRecord
		want, err  string
	}{
		"the first of two": {
			placements: []clusterv1alpha1.PlacementRolloutRecord{{Name: "p", Gates: []clusterv1alpha1.GateRecord{gate("canary", ""), gate("early", "")}}},
			want:       "p/canary",
		},
		"the second, where the first is passed": {
			placements: []clusterv1alpha1.PlacementRolloutRecord{
				{Name: "p", Gates: []clusterv1alpha1.GateRecord{gate("canary", clusterv1alpha1.GateProven), gate("early", "")}},
			},
			want: "p/early",
		},
		"an index": {placements: []clusterv1alpha1.PlacementRolloutRecord{{Name: "p", Gates: []clusterv1alpha1.GateRecord{byIndex}}}, want: "p/canary"},
		"two placements": {
			placements: []clusterv1alpha1.PlacementRolloutRecord{
				{Name: "p", Gates: []clusterv1alpha1.GateRecord{gate("canary", "")}}, {Name: "q", Gates: []clusterv1alpha1.GateRecord{gate("early", "")}},
			},
			err: "2 placements of the set shop/web have a mandatory group that is not passed: name the group",
		},
		"no record": {err: "0 placements"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			set, history := versions(t, "", "a")
			if c.placements != nil { // the record is of the template and its overrides
				set.Status.Rollout = &clusterv1alpha1.RolloutRecord{Revision: history[0].Hash + ".overrides", Placements: c.placements}
			}
			got, err := PassUnproven(set, "why")
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("err = %v, want %q", err, c.err)
				}
				return
			}
			if name := got.Placement + "/" + got.GroupName; err != nil || name != c.want || got.Revision != history[0].Hash || got.Reason != "why" {
				t.Errorf("%+v, %v, want %s", got, err, c.want)
			}
		})
	}
}

// TestCounted: the failures that count have names, and those beyond the names are counted.
func TestCounted(t *testing.T) {
	set := &workv1alpha1.ManifestWorkReplicaSet{}
	set.Status.Rollout = &clusterv1alpha1.RolloutRecord{
		Clusters: []clusterv1alpha1.ClusterRolloutRecord{
			{Name: "a", Phase: clusterv1alpha1.ClusterFailed},
			{Name: "b", Phase: clusterv1alpha1.ClusterLost},
			{Name: "c", Phase: clusterv1alpha1.ClusterForgiven},
			{Name: "d", Phase: clusterv1alpha1.ClusterInFlight},
		},
		Placements: []clusterv1alpha1.PlacementRolloutRecord{{Groups: []clusterv1alpha1.GroupRolloutRecord{{Failed: 1, Lost: 2}}}},
	}
	names, more := Counted(set)
	if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" || more != 1 {
		t.Errorf("%d more, (-want +got):\n%s", more, diff)
	}
}
