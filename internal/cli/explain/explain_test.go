package explain_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/command"
)

func TestExplainPlacement(t *testing.T) {
	for name, args := range map[string][]string{
		"summary": nil, "wide": {"-o", "wide"}, "selected": {"--cluster", "eu-39"}, "capped": {"--cluster", "eu-27"},
		"beaten":  {"--cluster", "eu-29"},
		"tainted": {"--cluster", "gpu-1"}, "mismatch": {"--cluster", "us-07"}, "outside": {"--cluster", "alien"},
	} {
		for _, width := range []string{"80", "120"} {
			t.Run(name+"/"+width, func(t *testing.T) {
				t.Setenv("COLUMNS", width)
				got := run(t, clitest.WideFleet(), append([]string{"explain", "placement", "web", "-f", "-"}, args...)...)
				if got.Code != command.ExitOK || got.ErrOut != "" {
					t.Fatalf("exit code %d, standard error:\n%s", got.Code, got.ErrOut)
				}
				clitest.Golden(t, "explain-"+name+"-"+width+".txt", got.Out)
			})
		}
	}
}

// TestExplainedAsData reads the data back and compares it with the summary.
func TestExplainedAsData(t *testing.T) {
	got := run(t, clitest.WideFleet(), "explain", "placement", "web", "-f", "-", "-o", "json")
	var of explain.Explanation
	if err := json.Unmarshal([]byte(got.Out), &of); err != nil {
		t.Fatal(err)
	}
	if of.Kind != explain.Kind || of.Selected != 10 || len(of.Chosen()) != 10 || len(of.Clusters) != 135 ||
		!of.DecidedAt.Equal(clitest.Now()) {
		t.Errorf("%d selected, %d chosen of %d clusters, decided at %s", of.Selected, len(of.Chosen()), len(of.Clusters), of.DecidedAt)
	}
	one := run(t, clitest.WideFleet(), "explain", "placement", "web", "-f", "-", "-o", "yaml", "--cluster", "gpu-1")
	if !strings.Contains(one.Out, "text: tolerate gpu=true:NoSelect") || strings.Contains(one.Out, "name: us-01") {
		t.Errorf("one cluster as YAML:\n%s", one.Out)
	}
}

func TestExplainMisused(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"nothing":      {nil, "name the placement: explain placement NAME"},
		"another kind": {[]string{"cluster", "c"}, `unknown kind "cluster": use explain placement NAME`},
		"no name":      {[]string{"placement", "-f", "-"}, "name the placement: explain placement NAME"},
		"two names":    {[]string{"placement", "a", "b", "-f", "-"}, `unexpected argument "b": name one placement`},
		"an unknown output": {
			[]string{"placement", "web", "-f", "-", "-o", "table"},
			`unknown output "table": use wide, json or yaml, or leave it out`,
		},
		"an instant that is none": {[]string{"placement", "web", "-f", "-", "--now", "noon"}, `--now "noon" is not in RFC 3339 form`},
		"an instant for a hub": {
			[]string{"placement", "web", "--now", "2026-11-21T09:00:00Z"},
			"--now needs files: a hub explains the run that it made",
		},
		"an empty cluster": {[]string{"placement", "web", "-f", "-", "--cluster", ""}, "--cluster is empty: name a cluster"},
		"a cluster in a wide table": {
			[]string{"placement", "web", "-f", "-", "--cluster", "eu-01", "-o", "wide"},
			"--cluster and -o wide exclude each other",
		},
		"a placement that is not": {
			[]string{"placement", "webb", "-f", "-"},
			"placement webb is not found: the input holds a/twice, b/twice, shop/frozen, shop/web",
		},
		"a placement elsewhere": {[]string{"placement", "web", "-n", "lab", "-f", "-"}, "placement lab/web is not found: the input holds"},
		"a placement in two places": {
			[]string{"placement", "twice", "-f", "-"},
			"placement twice is in several namespaces; name one with -n: a/twice, b/twice",
		},
		"a placement that is frozen": {[]string{"placement", "frozen", "-f", "-"}, "placement shop/frozen is not decided: the annotation"},
		"a cluster that is not": {
			[]string{"placement", "web", "-f", "-", "--cluster", "absent"},
			"the files hold no ManagedCluster absent",
		},
		"a file that is not":       {[]string{"placement", "web", "-f", "nowhere.yaml"}, "nowhere.yaml: cannot be read"},
		"a kubeconfig that is not": {[]string{"placement", "web", "--kubeconfig", "nowhere"}, "reading the kubeconfig"},
		"a hub that does not answer": {
			[]string{"placement", "web", "--server", "http://127.0.0.1:1"},
			"explaining default/web: the hub at http://127.0.0.1:1 cannot be reached",
		},
		"a manifest without anything": {
			[]string{"placement", "web", "-f", "testdata/explain/fleet.yaml"},
			"placement web is not found: the input holds no Placement",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", "/dev/null")
			got := run(t, clitest.WideFleet(), append([]string{"explain"}, tc.args...)...)
			if got.Code != command.ExitRefused || got.Out != "" || !strings.Contains(got.ErrOut, tc.want) {
				t.Errorf("got %+v, want exit code 2 and %q on standard error", got, tc.want)
			}
		})
	}
}

// explanationServer answers every request for the explanation of default/web.
func explanationServer(t *testing.T, code int, answer any) (address string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/apis/work.open-cluster-management.io/") { // a hub without works
			http.NotFound(w, r)
			return
		}
		if want := "/apis/view.cluster.open-cluster-management.io/v1/namespaces/default/placements/web/explanation"; r.URL.Path != want {
			t.Errorf("asked for %s, want %s", r.URL.Path, want)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestExplainedByTheHub(t *testing.T) {
	t.Setenv("KUBECONFIG", "/dev/null")
	told := explain.Explanation{
		Kind: explain.Kind, Namespace: "default", Name: "web", DecidedAt: clitest.Now().Add(-time.Hour), Decided: true, Wanted: new(2),
		Selected: 2,
		Stale:    "the placement has changed since", Hidden: 12,
		Conditions: []explain.Condition{{
			Type: "PlacementSatisfied", Status: metav1.ConditionTrue, Reason: "AllDecisionsScheduled",
			Message: "All cluster decisions scheduled",
		}},
		Clusters: []explain.Cluster{
			{Name: "c1", Verdict: "Selected", Selected: true, Rank: 1, Total: 100, Group: &explain.Group{}},
			{Name: "c2", Verdict: "Beaten", Rank: 3, Total: 80, Why: "others rank higher", Outranked: &explain.Outranked{Points: 10}},
		},
	}
	got := run(t, "", "explain", "placement", "web", "--server", explanationServer(t, http.StatusOK, told))
	if got.Code != command.ExitOK || got.ErrOut != "" {
		t.Fatalf("exit code %d, standard error:\n%s", got.Code, got.ErrOut)
	}
	clitest.Golden(t, "explain-hub.txt", got.Out)
}

// TestExplainedByAnotherRun explains a placement whose run the manager no longer holds, so that it decided again.
func TestExplainedByAnotherRun(t *testing.T) {
	t.Setenv("KUBECONFIG", "/dev/null")
	told := explain.Explanation{
		Kind: explain.Kind, Namespace: "default", Name: "web", DecidedAt: clitest.Now(), Decided: true, Replayed: true, Wanted: new(1),
		Selected:   1,
		Conditions: []explain.Condition{{Type: "PlacementSatisfied", Status: metav1.ConditionTrue, Reason: "AllDecisionsScheduled"}},
		Clusters:   []explain.Cluster{{Name: "c1", Verdict: "Selected", Selected: true, Rank: 1, Total: 100, Group: &explain.Group{}}},
	}
	for name, args := range map[string][]string{"summary": nil, "cluster": {"--cluster", "c1"}} {
		t.Run(name, func(t *testing.T) {
			got := run(t, "", append([]string{"explain", "placement", "web", "--server", explanationServer(t, http.StatusOK, told)}, args...)...)
			if got.Code != command.ExitOK || got.ErrOut != "" {
				t.Fatalf("exit code %d, standard error:\n%s", got.Code, got.ErrOut)
			}
			clitest.Golden(t, "explain-replayed-"+name+".txt", got.Out)
		})
	}
}

func TestHubThatDoesNotExplain(t *testing.T) {
	t.Setenv("KUBECONFIG", "/dev/null")
	status := func(code int32, reason metav1.StatusReason, message string, details *metav1.StatusDetails) metav1.Status {
		return metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Code: code, Reason: reason, Message: message, Details: details,
		}
	}
	for name, tc := range map[string]struct {
		answer metav1.Status
		want   string
	}{
		"no right": {
			status(http.StatusForbidden, metav1.StatusReasonForbidden, "you may not", nil),
			"explaining default/web: the right to get this placement is missing; ask for a role that gives it: you may not",
		},
		"no cluster": {
			status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "who are you", nil), "does not accept your credentials; log in again",
		},
		"no such placement": {
			status(http.StatusNotFound, metav1.StatusReasonNotFound, `placements "web" not found`, &metav1.StatusDetails{Name: "web"}),
			`explaining default/web: placements "web" not found`,
		},
		"no views": {
			status(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource", &metav1.StatusDetails{}),
			"no manager serves explanations on this hub: start the manager with its views, or read files with -f",
		},
		"a manager that cannot tell": {
			status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "it has not decided yet", nil),
			"the manager cannot answer now; try again in a moment, or read files with -f: it has not decided yet",
		},
		"a cluster out of sight": {
			status(http.StatusNotFound, metav1.StatusReasonNotFound, `managedclusters "c9" not found`, &metav1.StatusDetails{Name: "c9"}),
			`managedclusters "c9" not found`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, "", "explain", "placement", "web", "--server", explanationServer(t, int(tc.answer.Code), tc.answer), "--cluster", "c9")
			if got.Code != command.ExitRefused || got.Out != "" || !strings.Contains(got.ErrOut, tc.want) {
				t.Errorf("got %+v, want exit code 2 and %q on standard error", got, tc.want)
			}
		})
	}
}
