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

// groupLines lists slices as "number name#index: clusters".
func groupLines(result *engine.Result) []string {
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

// stateOf has clusters named with one letter each; capitals carry the label canary.
func stateOf(p *enginetest.PlacementBuilder, clusters string, slices ...*enginetest.SliceBuilder) *enginetest.State {
	w := enginetest.NewState(p.Obj(), enginetest.Set("all").Obj()).Bind("ns", "all")
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

func numberedClusters(from, to int) string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("n%03d", i))
	}
	return strings.Join(out, " ")
}

func TestMembership(t *testing.T) {
	for name, tc := range map[string]struct {
		state *enginetest.State
		want  []string
	}{
		"no clusters are one empty group with one empty slice": {stateOf(p(), ""), []string{"1 #0:"}},
		"a group that has lost a cluster has room for the next": {
			stateOf(p().PerGroup("2"), "a b c x", at(1, "a gone"), at(2, "b c").Group("", 1)), []string{"1 #0: a x", "2 #1: b c"},
		},
		"newcomers go to the last group first, then to holes in ascending order": {
			stateOf(p().PerGroup("3"), "a b c d e f g h", at(1, "a b"), at(2, "c").Group("", 1), at(3, "d e").Group("", 2)),
			[]string{"1 #0: a b g", "2 #1: c h", "3 #2: d e f"},
		},
		"a full fleet opens a new group": {
			stateOf(p().PerGroup("1"), "a b c", at(1, "b"), at(2, "c").Group("", 1)), []string{"1 #0: b", "2 #1: c", "3 #2: a"},
		},
		"a cluster that a predefined group claims leaves the unnamed one": {
			stateOf(canary(), "a X", at(1, "a X")), []string{"2 canary#0: X", "1 #1: a"},
		},
		"a cluster that no longer matches leaves the predefined group": {
			stateOf(canary(), "X y", at(1, "X y").Group("canary", 0)), []string{"1 canary#0: X", "2 #1: y"},
		},
		"a named group that appears late moves indices and no cluster": {
			stateOf(canary(), "a b X", at(1, "a"), at(2, "b").Group("", 1)), []string{"3 canary#0: X", "1 #1: a", "2 #2: b"},
		},
		"an empty group is dropped and indices close up": {
			stateOf(p().PerGroup("2"), "c d", at(1, "gone"), at(2, "c d").Group("", 1)), []string{"2 #0: c d"},
		},
		"a shrunken length spills the highest names": {
			stateOf(p().PerGroup("2"), "a b c d", at(1, "a b c d")), []string{"1 #0: a b", "2 #1: c d"},
		},
		"a larger length merges no groups": {
			stateOf(p().PerGroup("4"), "a b c d", at(1, "a b"), at(2, "c d").Group("", 1)), []string{"1 #0: a b", "2 #1: c d"},
		},
		"a percentage that becomes smaller by rounding moves no cluster": {
			stateOf(p().PerGroup("50%"), "a b c", at(1, "a b c")), []string{"1 #0: a b c"},
		},
		"a slice keeps its number and a new one takes the lowest free number": {
			stateOf(p().PerGroup("1"), "a b", at(3, "a")), []string{"3 #0: a", "1 #1: b"},
		},
		"a change of strategy starts anew": {
			stateOf(p().PerGroup("2"), "a b c", at(7, "a b c").Strategy("bygone")), []string{"1 #0: a b", "2 #1: c"},
		},
		"a slice whose index cannot be read has newcomers": {
			stateOf(p().PerGroup("2"), "a b c d", at(1, "a"), at(2, "b c").Index("two")), []string{"1 #0: a b", "2 #1: c d"},
		},
		"a cluster in two slices stays in the lower": {
			stateOf(p(), "a b", at(2, "a b"), at(1, "a")), []string{"1 #0: a", "2 #0: b"},
		},
		"a slice above the limit keeps its first clusters by name": {
			stateOf(p(), numberedClusters(0, 130), at(1, numberedClusters(0, 130))), []string{"1 #0: n000 to n099, 100", "2 #0: n100 to n129, 30"},
		},
		"an object with the label and another name is no slice": {
			stateOf(p(), "a b", at(1, "a"), at(9, "b").Named("mine")), []string{"1 #0: a b"},
		},
		"groups of one name stand side by side": {
			stateOf(p().GroupByLabel("one", "canary", "yes").Group("two", byName("b")).Group("one", clusterv1beta1.GroupClusterSelector{}), "a b X"),
			[]string{"1 one#0: X", "2 one#1: a b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, groupLines(enginetest.Decide(t, tc.state))); diff != "" {
				t.Errorf("slices (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAPercentageGroupIsCutDownToItsBound covers a group whose share became smaller. It keeps max(1.5 x share, share + 1)
// clusters. Its last clusters by name go to groups with room, in the same way as newcomers.
func TestAPercentageGroupIsCutDownToItsBound(t *testing.T) {
	const ten = "a b c d e f g h i j"
	for name, tc := range map[string]struct {
		state     *enginetest.State
		want      []string
		regrouped string
	}{
		"310 clusters at 20 % that became 62": {
			stateOf(p().PerGroup("20%"), numberedClusters(0, 62), at(1, numberedClusters(0, 62)), at(2, "gone").Group("", 1)),
			[]string{
				"1 #0: n000 to n018, 19", "2 #1: n019 to n031, 13", "3 #2: n032 to n044, 13", "4 #3: n045 to n057, 13",
				"5 #4: n058 n059 n060 n061",
			},
			numberedClusters(19, 62),
		},
		"at the bound of 1.5 x share nothing moves": {
			stateOf(p().PerGroup("40%"), ten, at(1, "a b c d e f"), at(2, "g h i j").Group("", 1)),
			[]string{"1 #0: a b c d e f", "2 #1: g h i j"},
			"",
		},
		"one above it moves one, into a group with room": {
			stateOf(p().PerGroup("40%"), ten, at(1, "a c e g i j f"), at(2, "b d h").Group("", 1)),
			[]string{"1 #0: a c e f g i", "2 #1: b d h j"},
			"j",
		},
		"a share of one may hold two": {
			stateOf(p().PerGroup("10%"), ten, at(1, "a b"), at(2, "c d").Group("", 1), at(3, "e f g h i j").Group("", 2)),
			[]string{"1 #0: a b", "2 #1: c d", "3 #2: e f", "4 #3: g", "5 #4: h", "6 #5: i", "7 #6: j"},
			"g h i j",
		},
		"several groups, the last with room first": {
			stateOf(p().PerGroup("20%"), ten, at(1, "a b c d"), at(2, "e f g h").Group("", 1), at(3, "i").Group("", 2), at(4, "j").Group("", 3)),
			[]string{"1 #0: a b c", "2 #1: e f g", "3 #2: h i", "4 #3: d j"},
			"d h",
		},
		"newcomers and those that move go by name": {
			stateOf(p().PerGroup("20%"), ten, at(1, "b c d e f g h"), at(2, "j").Group("", 1)),
			[]string{"1 #0: b c d", "2 #1: a j", "3 #2: e f", "4 #3: g h", "5 #4: i"},
			"e f g h",
		},
		"a named group is cut within its name": {
			stateOf(canary().PerGroup("20%"), "A B C D E F g h i j", at(1, "A B C D E F").Group("canary", 0), at(2, "g h i").Group("", 1)),
			[]string{"1 canary#0: A B C", "3 canary#1: D E", "4 canary#2: F", "2 #3: g h i", "5 #4: j"},
			"D E F",
		},
		"the number of a slice that every cluster leaves is free": {
			stateOf(p().PerGroup("25%"), "a b c d", at(1, "a b"), at(2, "d"), at(3, "c")), []string{"1 #0: a b", "2 #1: c", "3 #2: d"}, "c d",
		},
	} {
		t.Run(name, func(t *testing.T) {
			result := enginetest.Decide(t, tc.state)
			if diff := cmp.Diff(tc.want, groupLines(result)); diff != "" {
				t.Errorf("slices (-want +got):\n%s", diff)
			}
			if got := strings.Join(result.Regrouped, " "); got != tc.regrouped {
				t.Errorf("regrouped %q, want %q", got, tc.regrouped)
			}
		})
	}
}

// TestANewcomerNeverJoinsTheFirstGroupForAnIndexOutOfRange stores the largest index. An increment would overflow to the
// smallest index, and the newcomer would join the first group, which is rolled out first.
func TestANewcomerNeverJoinsTheFirstGroupForAnIndexOutOfRange(t *testing.T) {
	for _, index := range []string{"9223372036854775807", "9223372036854775806", "2147483647"} {
		w := stateOf(p().PerGroup("1"), "a b c", at(1, "a"), at(2, "b").Index(index))
		if diff := cmp.Diff([]string{"1 #0: a", "2 #1: b", "3 #2: c"}, groupLines(enginetest.Decide(t, w))); diff != "" {
			t.Errorf("index %s: slices (-want +got):\n%s", index, diff)
		}
	}
}

// byName selects no cluster, because clusters have no such claim.
func byName(name string) clusterv1beta1.GroupClusterSelector {
	return clusterv1beta1.GroupClusterSelector{ClaimSelector: clusterv1beta1.ClusterClaimSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{enginetest.Wants("name", "In", name)},
	}}
}

func TestWhatAMisconfiguredPlacementKeeps(t *testing.T) {
	wrong := func() *enginetest.PlacementBuilder { return p().Mode("Loose") }
	for name, tc := range map[string]struct {
		state *enginetest.State
		want  []string
	}{
		"every cluster stays in its slice": {
			stateOf(wrong(), "a b c", at(2, "c").Group("x", 1), at(5, "a b")), []string{"5 #0: a b", "2 x#1: c"},
		},
		"no cluster is in two slices": {stateOf(wrong(), "a b", at(1, "a"), at(2, "a b")), []string{"1 #0: a", "2 #0: b"}},
		"the indices after a removed group move up": {
			stateOf(wrong(), "b", at(1, "gone"), at(2, "b").Group("", 4)), []string{"2 #0: b"},
		},
		"a slice that an interrupted plan left too full is cut": {
			stateOf(wrong(), numberedClusters(0, 120), at(1, numberedClusters(0, 120))),
			[]string{"1 #0: n000 to n099, 100", "2 #0: n100 to n119, 20"},
		},
		"clusters of an object with another name get a slice": {
			stateOf(wrong(), "a b", at(1, "a"), at(9, "b").Named("mine").Group("", 1)), []string{"1 #0: a", "2 #1: b"},
		},
		"no clusters are one empty slice": {stateOf(wrong(), "a"), []string{"1 #0:"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, groupLines(enginetest.Decide(t, tc.state))); diff != "" {
				t.Errorf("slices (-want +got):\n%s", diff)
			}
		})
	}
}
