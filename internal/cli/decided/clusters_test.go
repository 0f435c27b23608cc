package decided

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
)

// slice returns a slice of the placement web in the namespace shop.
func slice(index, group string, clusters ...string) *clusterv1beta1.PlacementDecision {
	out := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web-decision-" + index,
		Labels: map[string]string{
			clusterv1beta1.PlacementLabel: "web", clusterv1beta1.DecisionGroupIndexLabel: index, clusterv1beta1.DecisionGroupNameLabel: group,
		},
	}}
	for _, cluster := range clusters {
		out.Status.Decisions = append(out.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: cluster})
	}
	return out
}

// placement is the placement web, with the groups canary and none, which no cluster matches.
func placement() *clusterv1beta1.Placement {
	out := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Generation: 1}}
	out.Spec.DecisionStrategy.GroupStrategy.DecisionGroups = []clusterv1beta1.DecisionGroup{{GroupName: "canary"}, {GroupName: "none"}}
	out.Status.Conditions = []metav1.Condition{{
		Type: clusterv1beta1.PlacementConditionSatisfied, Status: "True",
		Reason: "AllDecisionsScheduled",
	}}
	return out
}

func made(t *testing.T, slices ...*clusterv1beta1.PlacementDecision) *Clusters {
	t.Helper()
	out, err := newClusters(placement(), decision.Of(slices...))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func text(t *testing.T, write func(w *bytes.Buffer) error) string {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

const document = `{
    "kind": "DecidedClusters",
    "namespace": "shop",
    "name": "web",
    "revision": "REVISION",
    "satisfied": true,
    "reason": "AllDecisionsScheduled",
    "selected": 3,
    "clusters": [
        {
            "name": "us-1",
            "group": "canary",
            "groupIndex": 0
        },
        {
            "name": "eu-1",
            "group": "",
            "groupIndex": 1
        },
        {
            "name": "eu-2",
            "group": "",
            "groupIndex": 1
        }
    ],
    "groups": [
        {
            "index": 0,
            "name": "canary",
            "clusters": [
                "us-1"
            ]
        },
        {
            "index": 1,
            "name": "",
            "clusters": [
                "eu-1",
                "eu-2"
            ]
        }
    ]
}
`

// TestForms holds every form: scripts read them, so a difference is a break for users.
func TestForms(t *testing.T) {
	whole, empty := made(t, slice("0", "canary", "us-1"), slice("1", "", "eu-2", "eu-1")), made(t, slice("0", ""))
	for name, tc := range map[string]struct {
		of   *Clusters
		line bool
		form string
		want string
	}{
		"names":               {whole, false, Names, "us-1\neu-1\neu-2\n"},
		"names of no cluster": {empty, false, Names, ""},
		"names as a line":     {whole, true, Names, "us-1 eu-1 eu-2\n"},
		"no name as a line":   {empty, true, Names, "\n"},
		"json":                {whole, false, JSON, strings.Replace(document, "REVISION", whole.Revision, 1)},
		"json as a line": {
			empty, true, JSON,
			fmt.Sprintf(
				`{"kind":"DecidedClusters","namespace":"shop","name":"web","revision":%q,"satisfied":true,"reason":"AllDecisionsScheduled","selected":0,"clusters":[],"groups":[{"index":0,"name":"","clusters":[]}]}`, empty.Revision) + "\n",
		},
		"matrix": {
			whole, false, Matrix,
			`{"include":[{"cluster":"us-1","group":"canary","groupIndex":0},{"cluster":"eu-1","group":"","groupIndex":1},{"cluster":"eu-2","group":"","groupIndex":1}]}` + "\n",
		},
		"matrix of no cluster": {empty, true, Matrix, `{"include":[]}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := text(t, func(w *bytes.Buffer) error {
				if tc.line {
					return tc.of.WriteLine(w, tc.form)
				}
				return tc.of.Write(w, tc.form)
			})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRevision holds that a revision changes with the clusters and their groups, and not with how slices hold them.
func TestRevision(t *testing.T) {
	whole := made(t, slice("0", "", "a", "b"))
	for name, tc := range map[string]struct {
		of   *Clusters
		same bool
	}{
		"another order":     {made(t, slice("0", "", "b", "a")), true},
		"a cluster less":    {made(t, slice("0", "", "a")), false},
		"another cluster":   {made(t, slice("0", "", "a", "c")), false},
		"another group":     {made(t, slice("0", "x", "a", "b")), false},
		"divided otherwise": {made(t, slice("0", "", "a"), slice("1", "", "b")), false},
	} {
		if same := tc.of.Revision == whole.Revision; same != tc.same {
			t.Errorf("%s: the same revision: %t", name, same)
		}
	}
}

func TestSelectGroup(t *testing.T) {
	for name, tc := range map[string]struct{ group, want, err string }{
		"every group":            {"", "us-1 eu-1\n", ""},
		"a group":                {"canary", "us-1\n", ""},
		"a group without member": {"none", "\n", ""},
		"a misspelt group":       {"canari", "", `placement shop/web has no decision group "canari": it has canary, none`},
	} {
		t.Run(name, func(t *testing.T) {
			of := made(t, slice("0", "canary", "us-1"), slice("1", "", "eu-1"))
			err := of.SelectGroup(tc.group)
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Fatalf("got %v, want %q", err, tc.err)
				}
				return
			}
			if got := text(t, func(w *bytes.Buffer) error { return of.WriteLine(w, Names) }); err != nil || got != tc.want {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

// TestEntriesThatAreNoNames holds that no text of an external writer reaches the command line of a script.
func TestEntriesThatAreNoNames(t *testing.T) {
	for _, entry := range []string{"a b", "a\nb", "$(reboot)", "-o", "a;b", "A"} {
		if got, err := newClusters(placement(), decision.Of(slice("0", "", "eu-1", entry))); err == nil {
			t.Errorf("%q: got %+v, want an error", entry, got)
		}
	}
}

func TestContexts(t *testing.T) {
	config := clientcmdapi.Config{
		CurrentContext: "hub",
		Clusters: map[string]*clientcmdapi.Cluster{
			"hub": {Server: "https://hub"}, "one": {Server: "https://one"}, "two": {Server: "https://two"},
		},
		Contexts: map[string]*clientcmdapi.Context{
			"hub": {Cluster: "hub"}, "eu-1": {Cluster: "one"}, "admin@eu-1": {Cluster: "one"}, "admin@us-1": {Cluster: "two"},
			"eu-2": {Cluster: "hub"},
		},
	}
	for name, tc := range map[string]struct {
		clusters        []string
		name, want, err string
	}{
		"contexts with the names of clusters": {[]string{"eu-1"}, "{cluster}", "eu-1\teu-1\n", ""}, //nolint:dupword // a cluster and its context
		"contexts with other names":           {[]string{"eu-1", "us-1"}, "admin@{cluster}", "eu-1\tadmin@eu-1\nus-1\tadmin@us-1\n", ""},
		"no cluster":                          {nil, "{cluster}", "", ""},
		"a cluster without a context": {
			[]string{"eu-1", "us-1"},
			"{cluster}", "",
			`1 cluster without a context "{cluster}" in the kubeconfig: us-1`,
		},
		"a cluster with the name of the hub": {[]string{"eu-1", "hub"}, "{cluster}", "", "the context is of the hub, not of the cluster: hub"},
		"a context that leads to the hub":    {[]string{"eu-2"}, "{cluster}", "", "the context is of the hub, not of the cluster: eu-2"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := made(t, slice("0", "", tc.clusters...)).WriteContexts(&out, config, "hub", tc.name)
			if (err != nil) != (tc.err != "") || err != nil && !strings.HasPrefix(err.Error(), tc.err) {
				t.Errorf("got error %v, want %q", err, tc.err)
			}
			if out.String() != tc.want {
				t.Errorf("got %q, want %q", out.String(), tc.want)
			}
		})
	}
}
