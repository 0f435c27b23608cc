package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	gomodule "golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// repository is the module of the root, and the prefix of the others.
const repository = "github.com/berth-project/berth"

// consumer uses the libraries as another project does: by their version, without the other modules of this repository.
const consumer = `package main

import (
	"fmt"

	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/rollout"
)

func main() { fmt.Println(decision.Of().Inconsistent(), rollout.StateSucceeded) }
`

// TestTheLibrariesAreModules publishes the modules as a proxy serves them once a release has its tags, and builds a program with them. Its
// dependencies are the libraries of Kubernetes and what these need.
func TestTheLibrariesAreModules(t *testing.T) {
	_ = os.Getenv("BERTH_AREA_SOURCES") // what it packs, see internal/checkout
	proxy, folder := t.TempDir(), t.TempDir()
	release := required(t, "rollout", "decision")
	for _, name := range []string{"api", "decision", "rollout"} {
		publish(t, proxy, name, release)
	}
	write(t, filepath.Join(folder, "main.go"), consumer)
	write(t, filepath.Join(folder, "go.mod"), fmt.Sprintf("module example.com/consumer\n\ngo 1.26.0\n\nrequire (\n\t%[1]s/decision "+
		"%[2]s\n\t%[1]s/rollout %[2]s\n)\n", repository, release))
	cache := strings.TrimSpace(goCommand(t, folder, nil, "env", "GOMODCACHE"))
	upstream := strings.TrimSpace(goCommand(t, folder, nil, "env", "GOPROXY"))
	fresh := t.TempDir()
	environment := []string{
		"GOPROXY=file://" + proxy + ",file://" + filepath.Join(cache, "cache", "download") + "," + upstream,
		"GOMODCACHE=" + fresh, "GONOSUMDB=" + repository + "/*", "GOFLAGS=-mod=mod -modcacherw -trimpath", "GOWORK=off",
	}
	printed := goCommand(t, folder, environment, "run", ".")
	if printed != "false Succeeded\n" {
		t.Errorf("the program printed %q", printed)
	}
	for line := range strings.Lines(goCommand(t, folder, environment, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")) {
		path := strings.TrimSpace(line)
		if strings.HasPrefix(path, "sigs.k8s.io/controller-runtime") || strings.HasPrefix(path, "k8s.io/client-go") || path == repository {
			t.Errorf("the libraries need %s", path)
		}
	}
}

// required returns the version of a module that another one requires.
func required(t *testing.T, by, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", by, "go.mod")
	file, err := modfile.Parse(path, read(t, path), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range file.Require {
		if each.Mod.Path == repository+"/"+name {
			return each.Mod.Version
		}
	}
	t.Fatalf("%s requires no %s", by, name)
	return ""
}

// publish stores a module of this repository in the folder of a proxy.
func publish(t *testing.T, proxy, name, release string) {
	t.Helper()
	source, of := filepath.Join("..", "..", name), gomodule.Version{Path: repository + "/" + name, Version: release}
	folder := filepath.Join(proxy, filepath.FromSlash(of.Path), "@v")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, release+".info"), fmt.Sprintf(`{"Version": %q}`, release))
	write(t, filepath.Join(folder, release+".mod"), string(read(t, filepath.Join(source, "go.mod"))))
	archive, err := os.Create(filepath.Join(folder, release+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	if err := zip.CreateFromDir(archive, of, source); err != nil {
		t.Fatalf("packing %s: %v", of, err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// goCommand runs the go command in a folder, and returns what it prints.
func goCommand(t *testing.T, folder string, environment []string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir, command.Env = folder, append(os.Environ(), environment...)
	var failure strings.Builder
	command.Stderr = &failure
	printed, err := command.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, failure.String())
	}
	return string(printed)
}
