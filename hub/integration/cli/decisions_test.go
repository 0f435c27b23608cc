package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/cli"
)

// TestDecisions reads the decision of a manager in each form.
func TestDecisions(t *testing.T) {
	hubtest.StartManager(t, shared, hubtest.ManagerOptions{})
	s := newFixture(t)
	// At once after the placement was stored: the command waits for the decision.
	names := run(t.Context(), "decisions", "web", "-n", s.namespace, "--timeout", kit.Timeout.String())
	chosen := strings.TrimSuffix(names.out, "\n")
	if names.code != cli.ExitOK || names.errOut != "" || !slices.Contains(s.clusters(), chosen) {
		t.Fatalf("got %+v", names)
	}
	var document struct {
		Kind, Revision string
		Satisfied      bool
		Selected       int
		Clusters       []struct{ Name string }
	}
	decode(t, run(t.Context(), "decisions", "placement/web", "-n", s.namespace, "-o", "json"), &document)
	if document.Kind != "DecidedClusters" || document.Revision == "" || !document.Satisfied || document.Selected != 1 ||
		document.Clusters[0].Name != chosen {
		t.Errorf("got %+v", document)
	}
	matrix := run(t.Context(), "decisions", "web", "-n", s.namespace, "-o", "matrix")
	if want := fmt.Sprintf(`{"include":[{"cluster":%q,"group":"","groupIndex":0}]}`, chosen) + "\n"; matrix != (result{out: want}) {
		t.Errorf("got %+v, want %q", matrix, want)
	}
	t.Run("contexts", func(t *testing.T) { s.checkContexts(t, chosen) })
	t.Run("errors", func(t *testing.T) { s.checkDecisionErrors(t) })
}

// checkContexts reads the contexts of a kubeconfig that has the hub and a member.
func (f fixture) checkContexts(t *testing.T, chosen string) {
	if got := run(t.Context(), "decisions", "web", "-n", f.namespace, "-o", "kubeconfig-list"); got.code != cli.ExitRefused || got.out != "" ||
		!strings.Contains(got.errOut, "1 cluster without a context") {
		t.Errorf("got %+v", got)
	}
	config := kit.Must(clientcmd.LoadFromFile(shared.Kubeconfig())).In(t)
	config.Clusters["member"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
	config.Contexts["admin@"+chosen] = &clientcmdapi.Context{Cluster: "member"}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	kit.NoError(t, clientcmd.WriteToFile(*config, path))
	var out, errOut kit.Buffer
	code := startWith(t.Context(), path, &out, &errOut, "decisions", "web", "-n", f.namespace, "-o", "kubeconfig-list", "--context-name",
		"admin@{cluster}")
	if want := chosen + "\tadmin@" + chosen + "\n"; code != cli.ExitOK || out.String() != want {
		t.Errorf("exit code %d, got %q, want %q; %s", code, out.String(), want, errOut.String())
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func (f fixture) checkDecisionErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no such placement": {
			[]string{"decisions", "nothing", "-n", f.namespace},
			`error: there is no placement "nothing" in the namespace ` + f.namespace,
		},
		"no such group": {
			[]string{"decisions", "web", "-n", f.namespace, "--group", "x"},
			`has no decision group "x": it has no group with a name`,
		},
		"no role": {
			[]string{"decisions", "web", "-n", f.namespace, "--as", "no-role"},
			"the right to list placements.cluster.open-cluster-management.io in the namespace " + f.namespace + " is missing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t.Context(), tc.args...)
			if got.code != cli.ExitRefused || got.out != "" || !strings.Contains(got.errOut, tc.want) {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
		})
	}
}

// TestIncompleteDecisions writes slices in the middle of a change, without a manager. No part of them is printed.
func TestIncompleteDecisions(t *testing.T) {
	s := newFixture(t)
	read := func(timeout string) result {
		return run(t.Context(), "decisions", "web", "-n", s.namespace, "--timeout", timeout)
	}
	if got := read("1s"); got.code != cli.ExitUnsatisfied || got.out != "" ||
		!strings.HasSuffix(got.errOut, "is not complete after 1s: it has no decision yet\n") {
		t.Errorf("no decision: got %+v", got)
	}
	s.storeSlice(t, 1, s.clusters()...)
	if got := read("0s"); got.code != cli.ExitUnsatisfied || got.out != "" || !strings.Contains(got.errOut, "its status is not written yet") {
		t.Errorf("no status: got %+v", got)
	}
	s.storeStatus(t, 3)
	if got := read("0s"); got.code != cli.ExitUnsatisfied || got.out != "" ||
		!strings.Contains(got.errOut, "the status has 3 clusters, the slices have 2") {
		t.Errorf("a missing slice: got %+v", got)
	}
	s.storeStatus(t, 2)
	if got := read("0s"); got.code != cli.ExitOK || got.out != strings.Join(s.clusters(), "\n")+"\n" {
		t.Errorf("complete: got %+v", got)
	}
	s.storeSlice(t, 2, s.clusters()[0])
	if got := read("500ms"); got.code != cli.ExitUnsatisfied || got.out != "" || !strings.Contains(got.errOut, "is in two slices") {
		t.Errorf("a moving cluster: got %+v", got)
	}
}

// storeSlice stores a slice of the placement.
func (f fixture) storeSlice(t *testing.T, number int, clusters ...string) {
	t.Helper()
	slice := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: f.namespace, Name: fmt.Sprintf("web-decision-%d", number),
		Labels: map[string]string{
			clusterv1beta1.PlacementLabel: "web", clusterv1beta1.DecisionGroupIndexLabel: "0",
			clusterv1beta1.DecisionGroupNameLabel: "",
		},
	}}
	f.create(t, slice)
	for _, name := range clusters {
		slice.Status.Decisions = append(slice.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: name})
	}
	f.client.For(t).MustUpdateStatus(slice)
}

// storeStatus stores the status of the placement.
func (f fixture) storeStatus(t *testing.T, selected int32) {
	t.Helper()
	placement := f.placement()
	f.client.For(t).MustRead(placement)
	placement.Status.NumberOfSelectedClusters = selected
	placement.Status.Conditions = []metav1.Condition{{
		Type: clusterv1beta1.PlacementConditionSatisfied, Status: "True", Reason: "AllDecisionsScheduled", LastTransitionTime: metav1.Now(),
		ObservedGeneration: placement.Generation,
	}}
	f.client.For(t).MustUpdateStatus(placement)
}

// TestWatchDecisions follows a decision through moves of a cluster. Every line is a whole decision, none comes twice in a row, and the
// deletion of the placement ends the command without an empty line.
func TestWatchDecisions(t *testing.T) {
	hubtest.StartManager(t, shared, hubtest.ManagerOptions{})
	s := newFixture(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out, errOut kit.Buffer
	ended := make(chan int, 1)
	go func() { ended <- start(ctx, &out, &errOut, "decisions", "web", "-n", s.namespace, "--watch") }()
	lines := func() []string {
		return slices.DeleteFunc(strings.Split(out.String(), "\n"), func(line string) bool { return line == "" })
	}
	await := func(count int) {
		t.Helper()
		kit.Await(t, "the watch prints so many lines", func(context.Context) error {
			if len(lines()) < count {
				return fmt.Errorf("%w: %d lines, want %d: %s%s", errNotYet, len(lines()), count, out.String(), errOut.String())
			}
			return nil
		})
	}
	want := []string{}
	for turn := range 4 {
		await(turn + 1)
		last := lines()[turn]
		want = append(want, last)
		s.taint(t, last, turn < 3) // the last turn only removes the taint of the others
	}
	if diff := cmp.Diff(want, lines()); diff != "" || len(slices.Compact(slices.Clone(want))) != len(want) {
		t.Errorf("lines %q (-want +got):\n%s", want, diff)
	}
	s.client.MustDelete(s.placement())
	if code := <-ended; code != cli.ExitUnsatisfied || strings.Contains(out.String(), "\n\n") ||
		!strings.Contains(errOut.String(), "was deleted: this is no decision to remove anything") {
		t.Errorf("exit code %d, standard error %q, standard output\n%s", code, errOut.String(), out.String())
	}
}

// taint taints a cluster, and removes the taint of the other one first; without add it only removes.
func (f fixture) taint(t *testing.T, name string, add bool) {
	t.Helper()
	for _, cluster := range f.clusters() {
		if cluster != name || !add {
			f.patchTaints(t, cluster, `[]`)
		}
	}
	if add {
		f.patchTaints(t, name, `[{"key":"example.com/drain","effect":"NoSelect"}]`)
	}
}

func (f fixture) patchTaints(t *testing.T, cluster, taints string) {
	t.Helper()
	object := kit.Cluster(cluster)
	f.client.For(t).MustMerge(object, `{"spec":{"taints":`+taints+`}}`)
}
