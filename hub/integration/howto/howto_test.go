// Package howto runs the commands of every page of docs/how-to and of docs/operations/agentless.md, in order, on a separate hub, and
// compares their output with the page.
// After an intended change, `make test PKGS=hub/integration/howto FLAGS=-update` writes the pages, and make slow with the same words the
// others. Commit only the differences that you can explain.
package howto

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/hub/internal/doctest"
	"github.com/berth-project/berth/internal/checkout"
)

var update = flag.Bool("update", false, "write the pages")

const (
	// limit is for a command: a hub starts on a machine that is busy, and new roles take effect with a delay.
	limit = 150 * time.Second
	// home is where pages have the repository.
	home = "/home/you/berth"
	// kubectl is the kubectl that the hub embeds.
	kubectl = "#!/bin/sh\nexec berth-hub kubectl \"$@\"\n"
	// berth is a manager on ports of its own: the default ones are one pair per machine, and pages run side by side.
	berth = `#!/bin/sh
exec %q "$@" --metrics-bind-address=127.0.0.1:0 --health-probe-bind-address=127.0.0.1:0
`
)

// everyChange are the pages that every change must pass: a user's first day. The others are slow tests.
func everyChange() []string {
	return []string{"deliver-a-workload", "place-a-workload", "run-a-hub", "why-not-selected"}
}

// TestHowTos runs the pages, as many at a time as there are processors: each has a hub and folders of its own, and mostly waits. A page
// that starts no hub runs on a hub with the example fleet, as run-a-hub.md leaves it.
func TestHowTos(t *testing.T) { runPages(t, everyChange()) }

func runPages(t *testing.T, names []string) {
	t.Helper()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runPage(t, filepath.Join(checkout.Path(t, "docs/how-to"), name+".md"))
		})
	}
}

// runPage runs the commands of a page in a folder that looks like a checkout after `make build`, with further programs.
func runPage(t *testing.T, page string, programs ...string) {
	data := kit.Must(os.ReadFile(page)).In(t)
	text := string(data)
	if !strings.Contains(text, "\n$ ") {
		t.Fatalf("%s shows no command", page)
	}
	folder := checkoutFolder(t)
	for _, path := range programs {
		link(t, path, filepath.Join(folder, "bin", filepath.Base(path)))
	}
	environment := append(os.Environ(), "PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"), "HOME="+t.TempDir(), "NO_COLOR=1")
	if !strings.Contains(text, "$ bin/berth-hub --data-dir") {
		hub := hubtest.New(t, hubtest.Options{Manager: true, TaintUnjoined: true, Manifests: os.DirFS(checkout.Path(t, "examples/demo"))})
		environment = append(environment, "KUBECONFIG="+hub.Kubeconfig())
	}
	runner := doctest.NewRunner(doctest.Options{
		Folder: folder, Environment: environment, Limit: limit, Once: *update, Hide: map[string]string{folder: home},
	})
	followed, err := runner.Run(t.Context(), text)
	if stopErr := runner.Stop(t.Context()); err != nil || stopErr != nil {
		t.Fatal(errors.Join(err, stopErr))
	}
	if diff := cmp.Diff(text, followed); diff != "" && !*update {
		t.Errorf("%s (-want +got):\n%s", page, diff)
	}
	if *update {
		kit.NoError(t, os.WriteFile(page, []byte(followed), 0o600))
	}
}

// checkoutFolder returns a folder with the parts of the repository that pages use, and with the built programs in bin.
func checkoutFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, part := range []string{"config", "docs", "examples"} {
		link(t, checkout.Path(t, part), filepath.Join(folder, part))
	}
	bin := filepath.Join(folder, "bin")
	kit.NoError(t, os.Mkdir(bin, 0o700))
	hub := kit.Must(hubtest.Binary()).In(t)
	manager := kit.Must(hubtest.ManagerBinary()).In(t)
	plugin := kit.Must(hubtest.PluginBinary()).In(t)
	agent := kit.Must(hubtest.AgentBinary()).In(t)
	for name, path := range map[string]string{"berth-hub": hub, "kubectl-berth": plugin, "berth-agent": agent} {
		link(t, path, filepath.Join(bin, name))
	}
	kit.NoError(t, os.WriteFile(filepath.Join(bin, "kubectl"), []byte(kubectl), 0o700))
	kit.NoError(t, os.WriteFile(filepath.Join(bin, "berth"), fmt.Appendf(nil, berth, kit.Must(filepath.Abs(manager)).In(t)), 0o700))
	return folder
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
