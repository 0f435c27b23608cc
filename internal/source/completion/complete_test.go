package completion_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/internal/source/completion"
	"github.com/berth-project/berth/internal/source/file"
)

var newRules = sync.OnceValues(file.NewRules)

func rules(tb testing.TB) *file.Rules {
	tb.Helper()
	out, err := newRules()
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func names() completion.Names {
	return completion.Names{Sets: []string{"gpu", "prod"}, Labels: []string{"region", "tier"}, Claims: []string{"provider"}}
}

// complete completes a text at the mark |.
func complete(tb testing.TB, text string) completion.Result {
	tb.Helper()
	at := strings.Index(text, "|")
	row := strings.Count(text[:at], "\n")
	column := at - (strings.LastIndex(text[:at], "\n") + 1)
	return completion.Complete(rules(tb), names(), strings.Replace(text, "|", "", 1), row, column)
}

const head = "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\n"

func TestComplete(t *testing.T) {
	cases := map[string]struct {
		text string
		// want are options that must be there, not those that must not.
		want, not []string
	}{
		"an empty document":              {"|", []string{"apiVersion", "kind", "metadata"}, []string{"spec"}},
		"the keys that a document lacks": {head + "|", []string{"metadata", "spec"}, []string{"kind", "status"}},
		"a kind":                         {"kind: Pl|", []string{"Placement", "PlacementDecision"}, []string{"ManagedCluster"}},
		"a kind of a version": {
			"apiVersion: cluster.open-cluster-management.io/v1\nkind: |",
			[]string{"ManagedCluster"},
			[]string{"Placement"},
		},
		"the versions of a kind": {
			"apiVersion: |\nkind: Placement",
			[]string{"cluster.open-cluster-management.io/v1beta1"},
			[]string{"cluster.open-cluster-management.io/v1"},
		},
		"metadata":                        {head + "metadata:\n  |", []string{"name", "namespace", "labels"}, nil},
		"metadata of which some is there": {head + "metadata:\n  |\n  name: x", []string{"namespace"}, []string{"name"}},
		"the fields of a spec":            {head + "spec:\n  num|", []string{"numberOfClusters"}, []string{"predicates", "name"}},
		"fields behind the cursor count":  {head + "spec:\n  |\n  predicates: []\n", []string{"numberOfClusters"}, []string{"predicates"}},
		"a field of a list item": {
			head + "spec:\n  predicates:\n  - |",
			[]string{"requiredClusterSelector"},
			[]string{"predicates"},
		},
		"a field of an indented list item": {head + "spec:\n  predicates:\n    - |", []string{"requiredClusterSelector"}, nil},
		"a field below a list item": {
			head + "spec:\n  predicates:\n  - requiredClusterSelector:\n      |",
			[]string{"labelSelector", "claimSelector"},
			nil,
		},
		"the second key of a list item": {
			head + "spec:\n  tolerations:\n  - key: a\n    |",
			[]string{"operator", "effect"},
			[]string{"key", "predicates"},
		},
		"keys of another list item do not count": {head + "spec:\n  tolerations:\n  - key: a\n  - |", []string{"key", "operator"}, nil},
		"back at the spec after a list": {
			head + "spec:\n  tolerations:\n  - key: a\n  |",
			[]string{"predicates"},
			[]string{"tolerations", "key"},
		},
		"the values of an enumeration": {head + "spec:\n  tolerations:\n  - operator: |", []string{"Equal", "Exists"}, nil},
		"an effect": {
			head + "spec:\n  tolerations:\n  - effect: |",
			[]string{"NoSelect", "NoSelectIfNew"},
			[]string{"Equal"},
		},
		"a set": {head + "spec:\n  clusterSets:\n  - g|", []string{"gpu"}, []string{"prod"}},
		"a label": {head + "spec:\n  predicates:\n  - requiredClusterSelector:\n      labelSelector:\n       " +
			" matchLabels:\n          |", []string{"region", "tier"}, []string{"provider"}},
		"the label of an expression": {head + "spec:\n  predicates:\n  - requiredClusterSelector:\n      labelSelector:\n        " +
			"matchExpressions:\n        - key: |", []string{"region"}, []string{"provider"}},
		"the claim of an expression": {head + "spec:\n  predicates:\n  - requiredClusterSelector:\n      claimSelector:\n        " +
			"matchExpressions:\n        - key: |", []string{"provider"}, []string{"region"}},
		"the document around the cursor": {head + "---\napiVersion: cluster.open-cluster-management.io/v1\nkind: " +
			"ManagedCluster\nspec:\n  |\n---\nkind: x", []string{"hubAcceptsClient", "taints"}, []string{"predicates"}},
		"nothing in a comment":           {head + "# |", nil, []string{"spec"}},
		"nothing in flow style":          {head + "spec: {|", nil, []string{"predicates"}},
		"nothing for an unknown kind":    {"apiVersion: v1\nkind: Pod\nspec:\n  |", nil, []string{"predicates", "containers"}},
		"nothing for what is complete":   {head + "spec:\n  numberOfClusters|", nil, []string{"numberOfClusters"}},
		"a part in the middle of a word": {head + "spec:\n  Clusters|", []string{"numberOfClusters", "clusterSets"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := complete(t, tc.text)
			found := map[string]bool{}
			for _, option := range got.Options {
				found[option.Label] = true
			}
			for _, want := range tc.want {
				if !found[want] {
					t.Errorf("%s is missing in %v", want, got.Options)
				}
			}
			for _, not := range tc.not {
				if found[not] {
					t.Errorf("%s is proposed", not)
				}
			}
		})
	}
}

func TestOptionsExplainThemselves(t *testing.T) {
	got := complete(t, head+"spec:\n  numberOf|")
	if len(got.Options) != 1 || got.Typed != len("numberOf") {
		t.Fatalf("got %+v, want one option that replaces the word", got)
	}
	option := got.Options[0]
	if diff := cmp.Diff([]string{"numberOfClusters: ", "integer"}, []string{option.Text, option.Detail}); diff != "" ||
		option.Description == "" {
		t.Errorf("(-want +got):\n%s%+v", diff, option)
	}
}

// FuzzComplete completes at any place of any text: it must neither fail nor propose without end.
func FuzzComplete(f *testing.F) {
	for _, text := range []string{
		"", head + "spec:\n  predicates:\n  - - a: b\n", "---\n---\n", "- - - - - - - - - - - x", ":\n :\n", "\t- a",
		strings.Repeat("a:\n", 9),
	} {
		f.Add(text, 1, 2)
	}
	f.Fuzz(func(t *testing.T, text string, row, column int) {
		got := completion.Complete(rules(t), names(), text, row, column)
		if len(got.Options) > 60 || got.Typed < 0 || got.Typed > len(text) {
			t.Errorf("%d options that replace %d characters", len(got.Options), got.Typed)
		}
	})
}
