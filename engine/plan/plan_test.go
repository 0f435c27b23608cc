package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

func clusters(from, to int) []string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("n%03d", i))
	}
	return out
}

// hub is a state with a placement, its slices and clusters.
func hub(p *enginetest.PlacementBuilder, names []string, slices ...*clusterv1beta1.PlacementDecision) *enginetest.State {
	w := enginetest.NewState(p.Obj(), enginetest.Set("all").Obj()).Bind("ns", "all")
	for _, name := range names {
		w.Add(enginetest.Cluster(name).In("all").Obj())
	}
	for _, slice := range slices {
		w.Add(slice)
	}
	return w
}

func p() *enginetest.PlacementBuilder { return enginetest.Placement("ns", "p") }

func slice(number int, names ...string) *enginetest.SliceBuilder {
	return enginetest.Slice("ns", "p", number, names...)
}

// fills lists the writes of decisions.
func fills(t *testing.T, w *enginetest.State) []string {
	t.Helper()
	var out []string
	for _, write := range plan.Diff(enginetest.Decide(t, w), w.Stored(enginetest.OnlyPlacement(t, w)), w.Now).Writes {
		if write.Slice == nil || write.Verb == plan.UpdateMetadata {
			continue
		}
		line := write.Verb.String() + " " + write.Slice.Name
		if names := plan.Clusters(write.Slice); write.Verb != plan.Delete && len(names) > 6 {
			line += fmt.Sprintf(": %s to %s, %d", names[0], names[len(names)-1], len(names))
		} else if write.Verb != plan.Delete {
			line = strings.TrimSpace(line + ": " + strings.Join(names, " "))
		}
		out = append(out, line)
	}
	return out
}

func TestOrderOfWrites(t *testing.T) {
	for name, tc := range map[string]struct {
		state *enginetest.State
		want  []string
	}{
		"nothing stored: create": {hub(p(), []string{"a"}), []string{"create p-decision-1: a"}},
		"a newcomer and a leaver of one slice are one write": {
			hub(p(), []string{"a", "c"}, slice(1, "a", "b").Obj()), []string{"update-decisions p-decision-1: a c"},
		},
		"a cluster that moves is added before it is removed": {
			hub(p().PerGroup("2"), []string{"a", "b", "c"}, slice(1, "a", "b", "c").Obj()),
			[]string{"create p-decision-2: c", "update-decisions p-decision-1: a b"},
		},
		"a slice without clusters is deleted before another grows": {
			hub(p().Labels("keep", "me"), nil, slice(1, "x").Obj(), slice(2, "y").Group("", 1).Obj()).
				Add(enginetest.Cluster("n").In("all").Label("keep", "me").Obj()),
			[]string{"delete p-decision-2", "update-decisions p-decision-1: n"},
		},
		"an object with a foreign name is deleted last, once its clusters are elsewhere": {
			hub(p(), []string{"a", "b"}, slice(1, "a").Obj(), slice(2, "b").Named("mine").Obj()),
			[]string{"update-decisions p-decision-1: a b", "delete mine"},
		},
		"an object with a foreign name first loses deselected clusters": {
			hub(p(), []string{"a", "b"}, slice(1, "a").Obj(), slice(2, "b", "gone").Named("mine").Obj()),
			[]string{"update-decisions mine: b", "update-decisions p-decision-1: a b", "delete mine"},
		},
		"a deselected cluster is removed from all but one slice first": {
			hub(p().PerGroup("1"), []string{"a", "b"}, slice(1, "a", "x", "y").Obj(), slice(2, "b", "x", "y").Group("", 1).Obj()),
			[]string{"update-decisions p-decision-1: a", "update-decisions p-decision-2: b"},
		},
		"so that newcomers in its place do not add to it": {
			hub(p().PerGroup("2"), []string{"a", "b", "c", "d"}, slice(1, "a", "x", "y").Obj(), slice(2, "b", "x", "y").Group("", 1).Obj()),
			[]string{"update-decisions p-decision-1: a", "update-decisions p-decision-2: b c", "update-decisions p-decision-1: a d"},
		},
		"a slice whose list of decisions is null gets one": {
			func() *enginetest.State {
				empty := slice(1).Obj()
				empty.Status.Decisions = nil
				return hub(p(), nil, empty)
			}(),
			[]string{"update-decisions p-decision-1:"},
		},
		"a slice that readers do not list is put right before they do": {
			hub(p(), []string{"a", "b"}, slice(1, "a").Unlisted().Obj()), []string{"update-decisions p-decision-1: a b"},
		},
		"a cluster stays where readers see it until its new slice is listed": {
			hub(p().PerGroup("2"), []string{"a", "b", "c"}, slice(1, "a", "b", "c").Obj(), slice(2, "c").Group("", 1).Unlisted().Obj()),
			[]string{"update-decisions p-decision-1: a b"},
		},
		"150 clusters in no order are written in order": {
			hub(p(), clusters(0, 3), slice(1, "n002", "n000", "n001").Obj()), []string{"update-decisions p-decision-1: n000 n001 n002"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, fills(t, tc.state)); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestASliceIsListedOnlyWithItsDecisions applies the writes of new slices: none has the label of its placement before its
// decisions are stored, and all are labelled one after the other.
func TestASliceIsListedOnlyWithItsDecisions(t *testing.T) {
	for name, tc := range map[string]struct {
		state *enginetest.State
		want  []string
	}{
		"a new placement": {
			hub(p(), clusters(0, 250)),
			[]string{
				"create p-decision-1", "create p-decision-2", "create p-decision-3",
				"update-metadata p-decision-1", "update-metadata p-decision-2", "update-metadata p-decision-3", "update-status p",
			},
		},
		"a placement that selects no cluster": {hub(p(), nil), []string{
			"create p-decision-1", "update-metadata p-decision-1",
			"update-status p",
		}},
		"a creation that was interrupted before the status": {
			func() *enginetest.State {
				torn := slice(1).Unlisted().Obj()
				torn.Status.Decisions = nil
				return hub(p(), clusters(0, 2), torn)
			}(),
			[]string{"update-decisions p-decision-1", "update-metadata p-decision-1", "update-status p"},
		},
		"a creation that was interrupted before the label": {
			hub(p(), clusters(0, 2), slice(1, "n000", "n001").Unlisted().Obj()),
			[]string{"update-metadata p-decision-1", "update-status p"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			key := enginetest.OnlyPlacement(t, tc.state)
			var got []string
			for _, write := range plan.Diff(enginetest.Decide(t, tc.state), tc.state.Stored(key), tc.state.Now).Writes {
				tc.state.Apply(write)
				if write.Slice == nil {
					got = append(got, write.Verb.String()+" "+write.Placement.Name)
				} else {
					got = append(got, write.Verb.String()+" "+write.Slice.Name)
				}
				for _, slice := range tc.state.Listed(key) {
					if slice.Status.Decisions == nil || len(slice.Status.Decisions) == 0 && len(tc.state.Clusters) > 0 {
						t.Errorf("after %v %s is listed without its decisions", got, slice.Name)
					}
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSlicesOfAFormerPlacementGoFirst deletes the slices that the garbage collector will delete; they are not adopted.
func TestSlicesOfAFormerPlacementGoFirst(t *testing.T) {
	owned := func(number int, names ...string) *clusterv1beta1.PlacementDecision {
		former := p().Obj()
		former.UID = "former"
		out := slice(number, names...).Obj()
		out.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(former, clusterv1beta1.GroupVersion.WithKind("Placement"))}
		return out
	}
	w := hub(p(), []string{"a", "b"}, owned(2, "b"), owned(1, "a", "x"))
	stored := w.Stored(enginetest.OnlyPlacement(t, w))
	stored.FormerUID = "former"
	var got []string
	for _, write := range plan.Diff(enginetest.Decide(t, w), stored, w.Now).Writes {
		w.Apply(write)
		if write.Slice != nil {
			got = append(got, write.Verb.String()+" "+write.Slice.Name)
		}
	}
	want := []string{
		"delete p-decision-1", "delete p-decision-2", "create p-decision-1", "create p-decision-2",
		"update-metadata p-decision-1", "update-metadata p-decision-2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestMetadataOfOtherWritersStays(t *testing.T) {
	stored := slice(1, "a").Obj()
	stored.Labels["team"], stored.Annotations = "mine", map[string]string{"note": "mine"}
	w := hub(p(), []string{"a"}, stored)
	key := enginetest.OnlyPlacement(t, w)
	for _, write := range plan.Diff(enginetest.Decide(t, w), w.Stored(key), w.Now).Writes {
		w.Apply(write)
	}
	got := w.SlicesOf(key)[0]
	if got.Labels["team"] != "mine" || got.Annotations["note"] != "mine" {
		t.Errorf("labels %v and annotations %v, want those of others kept", got.Labels, got.Annotations)
	}
}

func TestOwner(t *testing.T) {
	type owner struct {
		Placement fleet.Key
		Number    int
		OK        bool
	}
	for name, want := range map[string]owner{
		"p-decision-1":             {fleet.Key{Namespace: "ns", Name: "p"}, 1, true},
		"p-decision-2-decision-10": {fleet.Key{Namespace: "ns", Name: "p-decision-2"}, 10, true},
		"p-decision-0":             {},
		"p-decision-01":            {},
		"p-decision-":              {},
		"p-decision-1000000":       {},
		"-decision-1":              {},
		"p":                        {},
	} {
		key, number, ok := plan.Owner(slice(1).Named(name).Obj())
		if diff := cmp.Diff(want, owner{key, number, ok}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAddedAndRemovedAreHeldAgainstWhatWasStored(t *testing.T) {
	w := hub(p(), []string{"a", "c", "b"}, slice(1, "b", "x").Obj())
	got := plan.Diff(enginetest.Decide(t, w), w.Stored(enginetest.OnlyPlacement(t, w)), w.Now)
	if diff := cmp.Diff([][]string{{"a", "c"}, {"x"}}, [][]string{got.Added, got.Removed}); diff != "" {
		t.Errorf("added, removed (-want +got):\n%s", diff)
	}
}
