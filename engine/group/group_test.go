package group_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
)

// told lists slices as "number name#index: clusters".
func told(result *engine.Result) []string {
	var out []string
	for _, slice := range result.Slices() {
		text := strings.Join(slice.Clusters, " ")
		if n := len(slice.Clusters); n > 10 {
			text = fmt.Sprintf("%s to %s, %d", slice.Clusters[0], slice.Clusters[n-1], n)
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d %s#%d: %s", slice.Number, slice.Group, slice.GroupIndex, text)))
	}
	return out
}

// fleet has clusters named with one letter each; capitals carry the label canary.
func fleet(p *enginetest.PlacementBuilder, clusters string, slices ...*enginetest.SliceBuilder) *enginetest.World {
	w := enginetest.NewWorld(p.Obj(), enginetest.Set("all").Obj()).Bind("ns", "all")
	for name := range strings.FieldsSeq(clusters) {
		b := enginetest.Cluster(name).In("all")
		if lower := strings.ToLower(name); lower != name {
			b.Label("canary", "yes")
		}
		w.Add(b.Obj())
	}
	for _, slice := range slices {
		w.Add(slice.Obj())
	}
	return w
}

func p() *enginetest.PlacementBuilder { return enginetest.Placement("ns", "p") }

func canary() *enginetest.PlacementBuilder { return p().GroupByLabel("canary", "canary", "yes") }

func at(number int, clusters string) *enginetest.SliceBuilder {
	return enginetest.Slice("ns", "p", number, strings.Fields(clusters)...)
}

func many(from, to int) string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("n%03d", i))
	}
	return strings.Join(out, " ")
}

func TestMembership(t *testing.T) {
	for name, tc := range map[string]struct {
		world *enginetest.World
		want  []string
	}{
		"nobody at all is one empty group with one empty slice": {fleet(p(), ""), []string{"1 #0:"}},
		"a group that has lost a cluster has room for the next": {
			fleet(p().PerGroup("2"), "a b c x", at(1, "a gone"), at(2, "b c").Group("", 1)), []string{"1 #0: a x", "2 #1: b c"},
		},
		"newcomers go to the last group first, then to holes in ascending order": {
			fleet(p().PerGroup("3"), "a b c d e f g h", at(1, "a b"), at(2, "c").Group("", 1), at(3, "d e").Group("", 2)),
			[]string{"1 #0: a b g", "2 #1: c h", "3 #2: d e f"},
		},
		"a full fleet opens a new group": {
			fleet(p().PerGroup("1"), "a b c", at(1, "b"), at(2, "c").Group("", 1)), []string{"1 #0: b", "2 #1: c", "3 #2: a"},
		},
		"a cluster that a predefined group claims leaves the unnamed one": {
			fleet(canary(), "a X", at(1, "a X")), []string{"2 canary#0: X", "1 #1: a"},
		},
		"a cluster that no longer matches leaves the predefined group": {
			fleet(canary(), "X y", at(1, "X y").Group("canary", 0)), []string{"1 canary#0: X", "2 #1: y"},
		},
		"a named group that appears late moves indices and nobody": {
			fleet(canary(), "a b X", at(1, "a"), at(2, "b").Group("", 1)), []string{"3 canary#0: X", "1 #1: a", "2 #2: b"},
		},
		"an empty group is dropped and indices close up": {
			fleet(p().PerGroup("2"), "c d", at(1, "gone"), at(2, "c d").Group("", 1)), []string{"2 #0: c d"},
		},
		"a shrunken length spills the highest names": {
			fleet(p().PerGroup("2"), "a b c d", at(1, "a b c d")), []string{"1 #0: a b", "2 #1: c d"},
		},
		"a length that grew compacts nothing": {
			fleet(p().PerGroup("4"), "a b c d", at(1, "a b"), at(2, "c d").Group("", 1)), []string{"1 #0: a b", "2 #1: c d"},
		},
		"a percentage that fell by rounding evicts nobody": {
			fleet(p().PerGroup("50%"), "a b c", at(1, "a b c")), []string{"1 #0: a b c"},
		},
		"a slice keeps its number and a new one takes the lowest that is free": {
			fleet(p().PerGroup("1"), "a b", at(3, "a")), []string{"3 #0: a", "1 #1: b"},
		},
		"a change of strategy starts anew": {
			fleet(p().PerGroup("2"), "a b c", at(7, "a b c").Strategy("bygone")), []string{"1 #0: a b", "2 #1: c"},
		},
		"a slice whose index cannot be read has newcomers": {
			fleet(p().PerGroup("2"), "a b c d", at(1, "a"), at(2, "b c").Index("two")), []string{"1 #0: a b", "2 #1: c d"},
		},
		"a cluster in two slices stays in the lower": {
			fleet(p(), "a b", at(2, "a b"), at(1, "a")), []string{"1 #0: a", "2 #0: b"},
		},
		"a slice that is too full keeps its first by name": {
			fleet(p(), many(0, 130), at(1, many(0, 130))), []string{"1 #0: n000 to n099, 100", "2 #0: n100 to n129, 30"},
		},
		"an object with the label and a stranger's name is no slice": {
			fleet(p(), "a b", at(1, "a"), at(9, "b").Named("mine")), []string{"1 #0: a b"},
		},
		"groups of one name stand side by side": {
			fleet(p().GroupByLabel("one", "canary", "yes").Group("two", byName("b")).Group("one", clusterv1beta1.GroupClusterSelector{}), "a b X"),
			[]string{"1 one#0: X", "2 one#1: a b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, told(enginetest.Decide(t, tc.world))); diff != "" {
				t.Errorf("slices (-want +got):\n%s", diff)
			}
		})
	}
}

// byName selects nobody: clusters have no such claim.
func byName(name string) clusterv1beta1.GroupClusterSelector {
	return clusterv1beta1.GroupClusterSelector{ClaimSelector: clusterv1beta1.ClusterClaimSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{enginetest.Wants("name", "In", name)},
	}}
}

func TestWhatAMisconfiguredPlacementKeeps(t *testing.T) {
	wrong := func() *enginetest.PlacementBuilder { return p().Mode("Loose") }
	for name, tc := range map[string]struct {
		world *enginetest.World
		want  []string
	}{
		"everybody where they are": {
			fleet(wrong(), "a b c", at(2, "c").Group("x", 1), at(5, "a b")), []string{"5 #0: a b", "2 x#1: c"},
		},
		"nobody twice": {fleet(wrong(), "a b", at(1, "a"), at(2, "a b")), []string{"1 #0: a", "2 #0: b"}},
		"indices close up over a group that is gone": {
			fleet(wrong(), "b", at(1, "gone"), at(2, "b").Group("", 4)), []string{"2 #0: b"},
		},
		"a slice that an interrupted plan left too full is cut": {
			fleet(wrong(), many(0, 120), at(1, many(0, 120))), []string{"1 #0: n000 to n099, 100", "2 #0: n100 to n119, 20"},
		},
		"clusters of an object with a stranger's name get a slice": {
			fleet(wrong(), "a b", at(1, "a"), at(9, "b").Named("mine").Group("", 1)), []string{"1 #0: a", "2 #1: b"},
		},
		"nobody is one empty slice": {fleet(wrong(), "a"), []string{"1 #0:"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, told(enginetest.Decide(t, tc.world))); diff != "" {
				t.Errorf("slices (-want +got):\n%s", diff)
			}
		})
	}
}
