package explain_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/delivery/plan/plantest"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/rollout"
)

func TestExplainDelivery(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	stored := clitest.Breached(t)
	name := stored.Works["edge-0"].Name
	for file, args := range map[string][]string{
		"set":       {"mwrs", "web"},
		"set-wide":  {"manifestworkreplicaset/web", "-o", "wide"},
		"set-yaml":  {"manifestworkreplicasets", "web", "-o", "yaml"},
		"refused":   {"mwrs", "web", "edge-0"},
		"failing":   {"mwrs.work.open-cluster-management.io", "web", "--cluster", "edge-1"},
		"waiting":   {"mwrs", "web", "edge-3"},
		"done":      {"mwrs", "web", "canary-1"},
		"work":      {"work", name, "-n", "edge-0"},
		"work-yaml": {"manifestwork", name, "-n", "edge-0", "-o", "yaml"},
	} {
		t.Run(file, func(t *testing.T) {
			got := run(t, stored.YAML(), append(append([]string{"explain"}, args...), "-f", "-")...)
			if got.Code != command.ExitOK || got.ErrOut != "" {
				t.Fatalf("exit code %d, standard error:\n%s", got.Code, got.ErrOut)
			}
			for line := range strings.Lines(got.Out) {
				if !strings.HasSuffix(file, "-yaml") && len([]rune(strings.TrimSuffix(line, "\n"))) > printer.DefaultWidth {
					t.Errorf("a line is wider than the screen: %q", line)
				}
			}
			clitest.Golden(t, "explain-delivery-"+file+".txt", got.Out)
		})
	}
}

// TestExplainTheWorksOfAnUnknownCluster shows the works of a cluster whose agent does not report as Unknown, and those of another as they
// are.
func TestExplainTheWorksOfAnUnknownCluster(t *testing.T) {
	t.Setenv("COLUMNS", "200")
	stored := clitest.Breached(t)
	const why = "ManagedCluster canary-1 is Unknown: its agent does not report"
	files := stored.YAML() + `---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: canary-1}
spec: {hubAcceptsClient: true}
status:
  conditions:
    - {type: ManagedClusterConditionAvailable, status: Unknown, reason: ManagedClusterLeaseUpdateStopped, message: stopped,
       lastTransitionTime: "2026-11-20T10:00:00Z"}
`
	for sentence, test := range map[string]struct {
		args []string
		want []string
	}{
		"the work": {
			[]string{"work", stored.Works["canary-1"].Name, "-n", "canary-1"}, []string{": Unknown, before Succeeded", why},
		},
		"the cluster of a set":  {[]string{"mwrs", "web", "canary-1"}, []string{"Unknown, before Succeeded", why}},
		"the clusters of a set": {[]string{"mwrs", "web", "-o", "wide"}, []string{"Unknown   10m", why}},
		"another work":          {[]string{"work", stored.Works["edge-0"].Name, "-n", "edge-0"}, nil},
		"another cluster":       {[]string{"mwrs", "web", "edge-1"}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := run(t, files, append(append([]string{"explain"}, test.args...), "-f", "-")...)
			if got.Code != command.ExitOK || strings.Contains(got.Out, "Unknown") != (test.want != nil) {
				t.Errorf("exit code %d, %s\n%s", got.Code, got.ErrOut, got.Out)
			}
			for _, text := range test.want {
				if !strings.Contains(got.Out, text) {
					t.Errorf("want %q in\n%s", text, got.Out)
				}
			}
		})
	}
}

// TestExplainWithoutWorks explains a set from files without works: there are only the numbers of its status.
func TestExplainWithoutWorks(t *testing.T) {
	w := clitest.Breached(t)
	w.Works = nil
	got := run(t, w.YAML(), "explain", "mwrs", "web", "-f", "-")
	if got.Code != command.ExitOK || !strings.Contains(got.ErrOut, "note: the files have no ManifestWork of the set shop/web, or no "+
		"ManagedCluster for its overrides") || !strings.Contains(got.Out, "shop/web: Breached") {
		t.Errorf("got %+v", got)
	}
}

// TestExplainPlacementGoesOn explains a placement, and the deliveries to its clusters after it.
func TestExplainPlacementGoesOn(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	fleet := clitest.Breached(t).YAML() + `---
{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSetBinding, metadata: {name: all, namespace: shop}, spec: {clusterSet: all}}
---
{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSet, metadata: {name: all}, spec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {}}}}
`
	for _, name := range append(plantest.Clusters("edge", 5), "canary-1") {
		fleet += "---\n{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: " + name + "}, spec: {}}\n"
	}
	for file, args := range map[string][]string{"placement": nil, "placement-cluster": {"--cluster", "edge-0"}} {
		t.Run(file, func(t *testing.T) {
			got := run(t, fleet, append([]string{"explain", "placement", "fleet", "-f", "-"}, args...)...)
			if got.Code != command.ExitOK {
				t.Fatalf("exit code %d, standard error:\n%s", got.Code, got.ErrOut)
			}
			clitest.Golden(t, "explain-delivery-"+file+".txt", got.Out)
		})
	}
	got := run(t, fleet, "explain", "placement", "fleet", "-f", "-", "-o", "json")
	var data struct {
		Kind       string          `json:"kind"`
		Deliveries []report.Report `json:"deliveries"`
	}
	if err := json.Unmarshal([]byte(got.Out), &data); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	if data.Kind != "PlacementExplanation" || len(data.Deliveries) != 1 {
		t.Fatalf("got %+v", data)
	}
	if c, ok := data.Deliveries[0].Find("edge-0"); !ok || c.Code != rollout.Failing || c.Failure == nil || !c.Failure.Permanent {
		t.Errorf("edge-0 is %+v", c)
	}
}

func TestExplainDeliveryMisused(t *testing.T) {
	stored := clitest.Breached(t).YAML()
	for name, tc := range map[string]struct{ args, want string }{
		"no set":                 {"mwrs", "name the manifestworkreplicaset: explain manifestworkreplicaset NAME"},
		"no work":                {"manifestwork", "name the manifestwork: explain manifestwork NAME"},
		"two clusters":           {"mwrs web a b", `unexpected argument "b": name one manifestworkreplicaset`},
		"two works":              {"manifestwork a b", `unexpected argument "b": name one manifestwork`},
		"a set that is not":      {"mwrs api", "the set api is not found: the input holds shop/web"},
		"a set elsewhere":        {"mwrs web -n lab", "the set web is not found: the input holds shop/web"},
		"a work that is not":     {"work api", "the work api is not found: the input holds 6 ManifestWorks"},
		"a cluster that is not":  {"mwrs web absent", "the set shop/web delivers nothing to a cluster absent"},
		"a cluster in a table":   {"mwrs web --cluster edge-0 -o wide", "--cluster and -o wide exclude each other"},
		"the cluster of a work":  {"work web --cluster edge-0", "--cluster is for placements and sets"},
		"an output that is none": {"mwrs web -o table", `unknown output "table"`},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, stored, append(append([]string{"explain"}, strings.Fields(tc.args)...), "-f", "-")...)
			if got.Code != command.ExitRefused || got.Out != "" || !strings.Contains(got.ErrOut, tc.want) {
				t.Errorf("got %+v, want exit code 2 and %q on standard error", got, tc.want)
			}
		})
	}
}
