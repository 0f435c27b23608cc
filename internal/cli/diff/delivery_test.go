package diff_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/delivery/plan/plantest"
)

// storedDelivery writes a set on 13 clusters to a file. Three clusters have its former template. It returns the name of the file.
func storedDelivery(t *testing.T) string {
	t.Helper()
	w := plantest.New(t, clitest.Now(), "{type: ProgressivePerGroup, progressivePerGroup: {mandatoryDecisionGroups: [{groupName: canary}]}}",
		plantest.Group{Name: "canary", Clusters: plantest.Clusters("canary", 3)}, plantest.Group{
			Name:     "rest",
			Clusters: plantest.Clusters("edge", 10),
		})
	for range 3 {
		w.Succeed(w.Step()...)
	}
	w.Template("2")
	w.Step()
	path := filepath.Join(t.TempDir(), "hub.yaml")
	if err := os.WriteFile(path, []byte(w.YAML()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// changedSet is the set shop/web with manifests, in YAML.
func changedSet(manifests ...string) string {
	return "{apiVersion: work.open-cluster-management.io/v1alpha1, kind: ManifestWorkReplicaSet, metadata: {name: web, namespace: shop}, " +
		"spec: {" +
		"placementRefs: [{name: fleet, rolloutStrategy: {type: ProgressivePerGroup, progressivePerGroup: {mandatoryDecisionGroups: " +
		"[{groupName: canary}]}}}]," +
		"manifestWorkTemplate: {workload: {manifests: [" + strings.Join(manifests, ", ") + "]}}}}\n"
}

const (
	deploymentOf = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {template: {spec: " +
		"{containers: [{image: 'web:VERSION', name: web}]}}}}"
	plainPassword = "correct-horse"
	secretOf      = "{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: shop}, stringData: {password: " + plainPassword + "}}"
)

func TestDiffDelivery(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	version := func(to string) string { return strings.ReplaceAll(deploymentOf, "VERSION", to) }
	work := "{apiVersion: work.open-cluster-management.io/v1, kind: ManifestWork, metadata: {name: WORK, namespace: edge-0}, spec: " +
		"{workload: {manifests: [" + secretOf + "]}}}\n"
	stored := storedDelivery(t)
	data, err := os.ReadFile(stored)
	if err != nil {
		t.Fatal(err)
	}
	name := data[strings.Index(string(data), "name: web-")+len("name: "):]
	name = name[:strings.IndexByte(string(name), '\n')]
	for file, tc := range map[string]struct {
		stdin string
		code  int
	}{
		"image":  {changedSet(version("3")), command.ExitUnsatisfied},
		"secret": {changedSet(version("2"), secretOf), command.ExitUnsatisfied},
		"same":   {changedSet(version("2")), command.ExitUnsatisfied},
		"new-set": {strings.ReplaceAll(changedSet(version("1")), "name: web, namespace: shop}, spec: {placementRefs",
			"name: api, namespace: shop}, spec: {placementRefs"), command.ExitUnsatisfied},
		"work":      {strings.ReplaceAll(work, "WORK", string(name)), command.ExitUnsatisfied},
		"new-work":  {strings.ReplaceAll(work, "WORK", "other"), command.ExitUnsatisfied},
		"two-kinds": {changedSet(version("3")) + "---\n" + strings.ReplaceAll(work, "WORK", "other"), command.ExitUnsatisfied},
	} {
		t.Run(file, func(t *testing.T) {
			got := run(t, tc.stdin, "diff", "--base", stored, "-f", "-")
			if got.Code != tc.code || got.ErrOut != "" {
				t.Fatalf("exit code %d, standard error:\n%s", got.Code, got.ErrOut)
			}
			for line := range strings.Lines(got.Out) {
				if len([]rune(strings.TrimSuffix(line, "\n"))) > printer.DefaultWidth {
					t.Errorf("a line is wider than the screen: %q", line)
				}
			}
			clitest.Golden(t, "diff-delivery-"+file+".txt", got.Out)
			asData := run(t, tc.stdin, "diff", "--base", stored, "-f", "-", "-o", "json")
			if !json.Valid([]byte(asData.Out)) || strings.Contains(got.Out+asData.Out, plainPassword) {
				t.Errorf("the data are invalid, or have the value of a Secret: %s", asData.Out)
			}
		})
	}
}

// TestDiffOfADeliveryThatTouchesNothing: the exit code is 0 where every cluster has the template.
func TestDiffOfADeliveryThatTouchesNothing(t *testing.T) {
	w := plantest.New(t, clitest.Now(), "{type: All}", plantest.Group{Clusters: []string{"a", "b"}})
	w.Step()
	path := filepath.Join(t.TempDir(), "hub.yaml")
	if err := os.WriteFile(path, []byte(w.YAML()), 0o600); err != nil {
		t.Fatal(err)
	}
	got := run(t, changedSet(strings.ReplaceAll(deploymentOf, "VERSION", "1")), "diff", "--base", path, "-f", "-")
	if want := "shop/web: 0 clusters changed, 0 clusters removed, 2 unchanged\n"; got.Code != command.ExitOK || got.Out != want ||
		got.ErrOut != "" {
		t.Errorf("got %+v, want %q", got, want)
	}
}
