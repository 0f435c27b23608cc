package diff_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/internal/cli/change"
	"github.com/berth-project/berth/internal/cli/command"
)

// inSet is a cluster of a set.
func inSet(cluster, set string) string {
	return "{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: " + cluster +
		", labels: {cluster.open-cluster-management.io/clusterset: " + set + "}}}\n---\n"
}

// boundSet is a set, and binding binds it to the namespace shop.
func boundSet(name string) string {
	return "{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSet, metadata: {name: " + name + "}}\n---\n"
}

func binding(set string) string {
	return "{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSetBinding, metadata: {name: " + set +
		", namespace: shop}, spec: {clusterSet: " + set + "}}\n---\n"
}

func placementWith(spec string) string {
	return "{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: {name: web, namespace: shop}, spec: " +
		spec + "}\n"
}

// renamed has two clusters in the set old, and a placement that selects both.
func renamed(spec string) string {
	return boundSet("old") + binding("old") + inSet("a", "old") + inSet("b", "old") + placementWith(spec)
}

// files writes files and returns their paths in the given order.
func files(t *testing.T, contents ...[2]string) []string {
	t.Helper()
	folder := t.TempDir()
	var out []string
	for _, file := range contents {
		path := filepath.Join(folder, file[0]+".yaml")
		if err := os.WriteFile(path, []byte(file[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		out = append(out, path)
	}
	return out
}

// TestFilesThatEmptyAPlacementInBetween renames a set: the clusters are labelled, the set and its binding are made.
func TestFilesThatEmptyAPlacementInBetween(t *testing.T) {
	labels, set, bound := [2]string{"labels", inSet("a", "new") + inSet("b", "new")}, [2]string{"set", boundSet("new")},
		[2]string{"binding", binding("new")}
	requested := [2]string{"placement", placementWith("{clusterSets: [new]}")}
	for sentence, tc := range map[string]struct {
		spec  string
		files [][2]string
		// emptied is the file after which the placement is empty, and order the first file of an order that avoids it.
		emptied, order string
	}{
		"labels first":                {"{}", [][2]string{labels, set, bound}, "labels", "set"},
		"labels last":                 {"{}", [][2]string{set, bound, labels}, "", ""},
		"the placement names the set": {"{clusterSets: [old]}", [][2]string{set, bound, labels, requested}, "labels", ""},
		"one file":                    {"{}", [][2]string{{"all", labels[1] + set[1] + bound[1]}}, "", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			base := files(t, [2]string{"base", renamed(tc.spec)})
			args := []string{"diff", "--base", base[0], "-o", "json"}
			for _, path := range files(t, tc.files...) {
				args = append(args, "-f", path)
			}
			got := run(t, "", args...)
			report := change.Report{}
			if err := json.Unmarshal([]byte(got.Out), &report); err != nil {
				t.Fatalf("%v; standard error:\n%s", err, got.ErrOut)
			}
			if report.Moved != 0 {
				t.Errorf("%d placements move in the end", report.Moved)
			}
			if tc.emptied == "" {
				if report.Sequence != nil || got.Code != command.ExitOK {
					t.Errorf("exit code %d, sequence %+v", got.Code, report.Sequence)
				}
				return
			}
			if got.Code != command.ExitUnsatisfied || report.Sequence == nil {
				t.Fatalf("exit code %d, sequence %+v", got.Code, report.Sequence)
			}
			first := report.Sequence.Emptied[0]
			if first.Name != "web" || first.Clusters != 2 || filepath.Base(first.After) != tc.emptied+".yaml" {
				t.Errorf("emptied: %+v", report.Sequence.Emptied)
			}
			order := strings.Join(report.Sequence.Order, " ")
			if tc.order == "" && order != "" || tc.order != "" && filepath.Base(report.Sequence.Order[0]) != tc.order+".yaml" {
				t.Errorf("order: %s", order)
			}
			text := run(t, "", append(args[:3:3], args[5:]...)...)
			want := "No order of these files"
			if tc.order != "" {
				want = "This order avoids it: " + report.Sequence.Order[0]
			}
			if !strings.Contains(text.Out, "shop/web after "+first.After+": it has 2 clusters before") || !strings.Contains(text.Out, want) {
				t.Errorf("the text is:\n%s", text.Out)
			}
		})
	}
}

// TestReplaceShowsWhatIsLostInBetween deletes and creates objects with the same content.
func TestReplaceShowsWhatIsLostInBetween(t *testing.T) {
	for sentence, tc := range map[string]struct {
		content string
		want    *change.Away
	}{
		"a set":              {boundSet("old"), &change.Away{Placements: 1, Clusters: 2}},
		"a binding":          {binding("old"), &change.Away{Placements: 1, Clusters: 2}},
		"a placement":        {placementWith("{}"), &change.Away{Placements: 1, Clusters: 2}},
		"a cluster":          {inSet("a", "old"), &change.Away{Placements: 1, Clusters: 1, Ungraced: true}},
		"what was not there": {boundSet("other"), &change.Away{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			base, manifest := files(t, [2]string{"base", renamed("{}")}), files(t, [2]string{"manifest", tc.content})
			args := []string{"diff", "--base", base[0], "-f", manifest[0], "--replace"}
			got := run(t, "", append(args, "-o", "json")...)
			report := change.Report{}
			if err := json.Unmarshal([]byte(got.Out), &report); err != nil {
				t.Fatalf("%v; standard error:\n%s", err, got.ErrOut)
			}
			if diff := cmp.Diff(tc.want, report.Away); diff != "" || report.Moved != 0 {
				t.Errorf("%d placements move in the end; away (-want +got):\n%s", report.Moved, diff)
			}
			if lost := tc.want.Clusters > 0; lost != (got.Code == command.ExitUnsatisfied) ||
				lost != strings.Contains(run(t, "", args...).Out, "Between deletion and creation 1 placement loses") {
				t.Errorf("exit code %d, and the text is:\n%s", got.Code, run(t, "", args...).Out)
			}
			text := run(t, "", args...).Out
			if graced := strings.Contains(text, "unless all is back within the grace"); graced == tc.want.Ungraced && tc.want.Clusters > 0 {
				t.Errorf("the grace: %s", text)
			}
		})
	}
	if got := run(t, "", "diff", "--replace", "--delete", "set/old"); got.Code != command.ExitRefused {
		t.Errorf("--replace without -f: exit code %d", got.Code)
	}
}

// TestAPlacementMadeAnewWithAMistakeKeepsNothing: what runs stays with the placement that has selected it.
func TestAPlacementMadeAnewWithAMistakeKeepsNothing(t *testing.T) {
	base := files(t, [2]string{"base", renamed("{}")})
	manifest := files(t, [2]string{"manifest", placementWith("{clusterSets: [odl]}")})
	for sentence, tc := range map[string]struct {
		flags []string
		stays bool
	}{
		"applied": {stays: true}, "replaced": {flags: []string{"--replace"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := run(t, "", append([]string{"diff", "--base", base[0], "-f", manifest[0]}, tc.flags...)...)
			if !strings.Contains(got.Out, "1 placement becomes misconfigured: ") || strings.Contains(got.Out, "what runs stays") != tc.stays {
				t.Errorf("%s\n%s", got.Out, got.ErrOut)
			}
		})
	}
}

// TestASetThatWouldLoseEveryMemberIsHeld edits the selector of a set.
func TestASetThatWouldLoseEveryMemberIsHeld(t *testing.T) {
	cluster := func(name, environment string) string {
		return "{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: " + name +
			", labels: {environment: " + environment + "}}}\n---\n"
	}
	set := func(environment, more string) string {
		return "{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSet, metadata: {name: live, generation: 2" + more +
			"}, spec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {matchLabels: {environment: " + environment + "}}}}}\n---\n"
	}
	const confirmed = ", annotations: {berth-project.io/confirmed-generation: \"2\"}"
	for sentence, tc := range map[string]struct {
		content string
		held    bool
		moved   int
	}{
		"no cluster matches":                        {set("lief", ""), true, 0},
		"a cluster of the change matches":           {set("lief", "") + cluster("a", "lief"), false, 1},
		"a cluster that leaves it does not matter":  {set("lief", "") + cluster("a", "other"), true, 1},
		"it is confirmed":                           {set("lief", confirmed), false, 1},
		"other clusters match":                      {set("test", ""), false, 1},
		"the selector is the same as before":        {set("live", ""), false, 0},
		"every cluster was relabelled, not the set": {cluster("a", "x") + cluster("b", "x"), false, 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			base := files(t, [2]string{"base", set("live", "") + binding("live") + cluster("a", "live") + cluster("b", "live") +
				cluster("c", "test") + placementWith("{}")})
			got := run(t, "", "diff", "--base", base[0], "-f", files(t, [2]string{"change", tc.content})[0], "-o", "json")
			report := change.Report{}
			if err := json.Unmarshal([]byte(got.Out), &report); err != nil {
				t.Fatalf("%v; standard error:\n%s", err, got.ErrOut)
			}
			var want []string
			if tc.held {
				members := map[int]string{0: "2 members", 1: "1 member"}[tc.moved]
				want = []string{"the set live keeps its " + members + ", since its new selector would take every one away"}
			}
			if diff := cmp.Diff(want, report.Held); diff != "" || report.Moved != tc.moved {
				t.Errorf("%d placements move; held (-want +got):\n%s", report.Moved, diff)
			}
			if refused := tc.held || tc.moved > 0; (got.Code == command.ExitUnsatisfied) != refused {
				t.Errorf("exit code %d", got.Code)
			}
		})
	}
}

// TestDiffTellsOfAnEditThatEmpties edits a placement so that it has no cluster.
func TestDiffTellsOfAnEditThatEmpties(t *testing.T) {
	base := files(t, [2]string{"base", renamed("{}")})[0]
	const held = "Held: on a hub with --emptying-edits=hold, the default of berth-hub, the edit of the placement shop/web: " +
		"The last edit leaves none of 2 selected ManagedClusters"
	for name, test := range map[string]struct {
		spec string
		held bool
	}{
		"a label that no cluster of the set has": {
			"{predicates: [{requiredClusterSelector: {labelSelector: {matchExpressions: [" +
				"{key: cluster.open-cluster-management.io/clusterset, operator: NotIn, values: [old]}]}}}]}", true,
		},
		"no cluster is wanted": {"{numberOfClusters: 0}", false},
		"one cluster":          {"{numberOfClusters: 1}", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, placementWith(test.spec), "diff", "--base", base, "-f", "-")
			if got.Code != command.ExitUnsatisfied || strings.Contains(got.Out, held) != test.held {
				t.Errorf("exit code %d, held %t:\n%s%s", got.Code, test.held, got.Out, got.ErrOut)
			}
		})
	}
}

// TestDiffTellsOfTheBrake drains, relabels and removes twelve clusters, which are all of a set.
func TestDiffTellsOfTheBrake(t *testing.T) {
	base, elsewhere := boundSet("gold")+binding("gold"), ""
	for i := range 12 {
		name := fmt.Sprint("c", i)
		base += inSet(name, "gold")
		elsewhere += inSet(name, "other")
	}
	base += placementWith("{}")
	const gold = "cluster.open-cluster-management.io/clusterset=gold"
	const left = " clusters of the set would have left placements within 1m0s by their "
	paths := files(t, [2]string{"base", base}, [2]string{"elsewhere", boundSet("other") + elsewhere})
	for name, test := range map[string]struct {
		args []string
		want string
		not  string
	}{
		"a drain":             {[]string{"--drain", gold}, "Braked: managedclusterset/gold: at least 7 of 12" + left + "taints", "lost"},
		"without a brake":     {[]string{"--drain", gold, "--brake", "off"}, "12 clusters lost", "Braked"},
		"another set":         {[]string{"-f", paths[1]}, "Braked: managedclusterset/gold: at least 10 of 10" + left + "labels", "lost"},
		"a binding":           {[]string{"--delete", "binding/shop/gold"}, "12 clusters lost", "Braked"},
		"a cluster that goes": {[]string{"--remove", "c1"}, "1 cluster lost", "Braked"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, "", append([]string{"diff", "--base", paths[0]}, test.args...)...)
			if got.Code != command.ExitUnsatisfied || !strings.Contains(got.Out, test.want) || strings.Contains(got.Out, test.not) {
				t.Errorf("exit code %d, want %q and not %q:\n%s%s", got.Code, test.want, test.not, got.Out, got.ErrOut)
			}
		})
	}
}

// TestDiffTellsOfAnEditUnderABrake edits a placement by mistake while a brake keeps all of its clusters, which are drained.
func TestDiffTellsOfAnEditUnderABrake(t *testing.T) {
	const drained = ", spec: {taints: [{key: drain, effect: NoSelect, timeAdded: '2026-01-01T00:00:00Z'}]}}\n---\n"
	base := strings.Replace(boundSet("gold"), "}}\n---\n", "}, status: {conditions: [{type: BrakedByTaints, status: 'True', "+
		"reason: TooManyLeave, message: 7 of 12 would have left, lastTransitionTime: '2026-01-01T00:00:00Z'}]}}\n---\n", 1) + binding("gold")
	var decisions []string
	for i := range 12 {
		labelled := strings.Replace(inSet(fmt.Sprint("c", i), "gold"), "labels: {", "labels: {env: live, ", 1)
		base += strings.Replace(labelled, "}\n---\n", drained, 1)
		decisions = append(decisions, fmt.Sprintf("{clusterName: c%d, reason: ''}", i))
	}
	base += "{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: PlacementDecision, metadata: {name: web-decision-1, " +
		"namespace: shop, labels: {cluster.open-cluster-management.io/placement: web}}, status: {decisions: [" +
		strings.Join(decisions, ", ") + "]}}\n---\n" +
		"{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: {name: web, namespace: shop, generation: 1}, " +
		"spec: {}, status: {conditions: [{type: PlacementSatisfied, status: 'True', reason: AllDecisionsScheduled, message: '', " +
		"observedGeneration: 1, " +
		"lastTransitionTime: '2026-01-01T00:00:00Z'}]}}\n"
	selects := func(label string) string {
		return placementWith("{predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {" + label + "}}}}]}")
	}
	paths := files(t, [2]string{"base", base}, [2]string{"value", selects("env: lvie")}, [2]string{"label", selects("regoin: live")},
		[2]string{"same", selects("env: live")})
	for name, test := range map[string]struct {
		path, want string
		code       int
	}{
		"a value that none has": {paths[1], "the edit of the placement shop/web: The last edit leaves none of 12", command.ExitUnsatisfied},
		"a label that none has": {paths[2], `no cluster in reach has the label "regoin"`, command.ExitUnsatisfied},
		"all meet it":           {paths[3], "Nothing moves.", command.ExitOK},
	} {
		got := run(t, "", "diff", "--base", paths[0], "-f", test.path)
		if got.Code != test.code || !strings.Contains(got.Out, test.want) {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s%s", name, got.Code, test.code, test.want, got.Out, got.ErrOut)
		}
	}
}

// TestDiffTellsOfAHeldEdit changes a fleet in which the edit of a placement is held: its clusters are there before the change.
func TestDiffTellsOfAHeldEdit(t *testing.T) {
	labelled := func(cluster, env string) string {
		return strings.Replace(inSet(cluster, "gold"), "labels: {", "labels: {env: "+env+", ", 1)
	}
	base := boundSet("gold") + binding("gold") + labelled("c1", "live") + labelled("c2", "live") +
		"{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: PlacementDecision, metadata: {name: web-decision-1, " +
		"namespace: shop, labels: {cluster.open-cluster-management.io/placement: web}}, status: {decisions: " +
		"[{clusterName: c1, reason: ''}, {clusterName: c2, reason: ''}]}}\n---\n" +
		"{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: {name: web, namespace: shop, generation: 2}, " +
		"spec: {predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {env: lvie}}}}]}, status: {conditions: [" +
		"{type: PlacementSatisfied, status: 'True', reason: AllDecisionsScheduled, message: '', observedGeneration: 1, " +
		"lastTransitionTime: '2026-01-01T00:00:00Z'}, {type: EditHeld, status: 'True', reason: EmptiesPlacement, message: none, " +
		"observedGeneration: 2, lastTransitionTime: '2026-01-01T00:00:00Z'}]}}\n"
	paths := files(t, [2]string{"base", base}, [2]string{"other", inSet("c3", "gold")},
		[2]string{"undone", placementWith("{}")}, [2]string{"matching", labelled("c1", "lvie")})
	for name, test := range map[string]struct{ path, want string }{
		"another cluster":                  {paths[1], "Nothing moves."},
		"the edit is undone":               {paths[2], "Nothing moves."},
		"one of the held clusters matches": {paths[3], "Nothing moves."},
	} {
		got := run(t, "", "diff", "--base", paths[0], "-f", test.path)
		if got.Code != command.ExitOK || !strings.Contains(got.Out, test.want) {
			t.Errorf("%s: exit code %d, want %q:\n%s%s", name, got.Code, test.want, got.Out, got.ErrOut)
		}
	}
	got := run(t, "", "diff", "--base", paths[0], "--remove", "c1")
	if !strings.Contains(got.Out, "2 -> 1") && !strings.Contains(got.Out, "1 cluster lost") {
		t.Errorf("without c1:\n%s%s", got.Out, got.ErrOut)
	}
}
