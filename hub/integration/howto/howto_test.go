// Package howto runs the commands of every page of docs/how-to and of docs/operations/agentless.md, in order, on a separate hub, and
// compares their output with the page.
// After an intended change, `go test ./integration/howto -update` writes the pages. Commit only the differences that you can explain.
package howto

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/internal/doctest"
)

var update = flag.Bool("update", false, "write the pages")

const (
	// root is the repository, from here.
	root = "../../.."
	// limit is for Berth, for a hub that starts, and for the API server, where new roles take effect with a delay.
	limit = 40 * time.Second
	// home is where pages have the repository.
	home = "/home/you/berth"
	// kubectl is the kubectl that the hub embeds.
	kubectl = "#!/bin/sh\nexec berth-hub kubectl \"$@\"\n"
)

// TestHowTos runs the pages, as many at a time as there are processors: each has a hub and folders of its own, and mostly waits. A page that
// starts no hub runs on a hub with the example fleet, as run-a-hub.md leaves it.
func TestHowTos(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "how-to", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	pages = append(pages, filepath.Join(root, "docs", "operations", "agentless.md"))
	for _, page := range pages {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			t.Parallel()
			runPage(t, page)
		})
	}
}

// runPage runs the commands of a page in a folder that looks like a checkout after `make build`.
func runPage(t *testing.T, page string) {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if !strings.Contains(text, "\n$ ") {
		t.Fatalf("%s shows no command", page)
	}
	if strings.Contains(text, "$ bin/argocd/") {
		requireArgoCD(t)
	}
	folder := checkout(t)
	environment := append(os.Environ(), "PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"), "HOME="+t.TempDir(), "NO_COLOR=1")
	if !strings.Contains(text, "$ bin/berth-hub --data-dir") {
		hub := hubtest.New(t, hubtest.Options{Manager: true, TaintUnjoined: true, Manifests: os.DirFS(filepath.Join(root, "examples", "demo"))})
		environment = append(environment, "KUBECONFIG="+hub.Kubeconfig())
	}
	runner := doctest.NewRunner(doctest.Options{
		Folder: folder, Environment: environment, Limit: limit, Once: *update, Hide: map[string]string{folder: home},
	})
	followed, err := runner.Run(t.Context(), text)
	if err != nil {
		t.Error(err)
	}
	if err := runner.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(text, followed); diff != "" && !*update {
		t.Errorf("%s (-want +got):\n%s", page, diff)
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(page, []byte(followed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// checkout returns a folder with the parts of the repository that pages use, and with the built programs in bin.
func checkout(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, part := range []string{"config", "docs", "examples"} {
		link(t, filepath.Join(root, part), filepath.Join(folder, part))
	}
	bin := filepath.Join(folder, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	hub, err := hubtest.Binary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	manager, err := hubtest.ManagerBinary(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := hubtest.PluginBinary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	agent, err := hubtest.AgentBinary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"berth-hub": hub, "berth": manager, "kubectl-berth": plugin, "berth-agent": agent} {
		link(t, path, filepath.Join(bin, name))
	}
	if argocd, built := hubtest.ArgoCD(); built {
		link(t, argocd, filepath.Join(bin, "argocd"))
	}
	if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte(kubectl), 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

// requireArgoCD skips a page that runs Argo CD where it is not built.
func requireArgoCD(t *testing.T) {
	t.Helper()
	if _, built := hubtest.ArgoCD(); !built {
		t.Skip("ARGO CD IS NOT TESTED IN THIS RUN: make ecosystem builds it")
	}
}

func link(t *testing.T, from, to string) {
	t.Helper()
	path, err := filepath.Abs(from)
	if err == nil {
		err = os.Symlink(path, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}
