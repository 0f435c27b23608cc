// Package examples applies every scenario of the folder examples to a real hub with Berth's manager, and compares the decisions
// with the expected files. After an intended change, `go test ./integration/examples -update` writes the files again. Commit
// only the differences that you can explain.
package examples

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/hub/internal/scenario"
	"github.com/berth-project/berth/internal/cli"
)

var errDecisionsLeft = errors.New("decisions are left")

var (
	update = flag.Bool("update", false, "write the expected files")
	shared *hubtest.Hub
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manager: true, TaintUnjoined: true}))
}

// otherFolders are the folders without such scenarios: controller is for TestControllerTemplate, how-to is for pages, pipeline for
// TestPipeline in integration/cli, and tenancy for TestStories. Scenarios and simulate are for offline commands.
var otherFolders = []string{"controller", "how-to", "pipeline", "scenarios", "simulate", "tenancy"}

// applyScenario applies the steps of a scenario one after the other, compares the decisions after each, and deletes the objects.
func applyScenario(t *testing.T, folder string) {
	hub := kit.Must(scenario.Connect(shared.Config(), clock.RealClock{})).In(t)
	steps := kit.Must(scenario.Read(os.DirFS(folder))).In(t)
	for _, step := range steps {
		if err := hub.Apply(t.Context(), step); err != nil {
			t.Errorf("step %s: %v", step.Folder, err)
			break
		}
		compare(t, filepath.Join(folder, step.Folder, "expected.txt"), decisions(t))
	}
	deleteAll(t, hub)
}

// decisions returns the conditions and the groups of every placement, as `kubectl berth` prints them.
func decisions(t *testing.T) string {
	t.Helper()
	var out, errOut bytes.Buffer
	for _, columns := range [][]string{
		{
			"placements",
			"NAMESPACE:.namespace,PLACEMENT:.name,SATISFIED:.satisfied,SELECTED:.selected," +
				"MISCONFIGURED:.misconfigured,REASON:.reason,MESSAGE:.message",
		},
		{"groups", "NAMESPACE:.namespace,PLACEMENT:.placement,GROUP:.index,NAME:.name,CLUSTERS:.clusters[*]"},
	} {
		args := []string{"get", columns[0], "-A", "-o", "custom-columns=" + columns[1], "--kubeconfig", shared.Kubeconfig()}
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
		if code := cli.Run(t.Context(), args, streams, clock.RealClock{}); code != cli.ExitOK {
			t.Fatalf("%v: exit code %d, %s", args, code, errOut.String())
		}
		out.WriteString("\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// deleteAll deletes the objects of a scenario, except namespaces, and waits until Berth has deleted its decisions.
func deleteAll(t *testing.T, hub *scenario.Hub) {
	t.Helper()
	for _, resource := range []schema.GroupVersionResource{
		scenario.Placements, scenario.Bindings, scenario.Sets, scenario.Clusters,
		scenario.Scores,
	} {
		list := kit.Must(hub.Client().Resource(resource).List(t.Context(), metav1.ListOptions{})).In(t)
		for _, object := range list.Items {
			client := hub.Client().Resource(resource).Namespace(object.GetNamespace())
			kit.NoError(t, client.Delete(t.Context(), object.GetName(), metav1.DeleteOptions{}))
		}
	}
	kit.Await(t, "Berth has deleted its decisions", func(ctx context.Context) error {
		list, err := hub.Client().Resource(scenario.Decisions).List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%w: %d", errDecisionsLeft, len(list.Items))
		}
		return err
	})
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		kit.NoError(t, os.WriteFile(file, []byte(got), 0o600))
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
