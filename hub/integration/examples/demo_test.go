package examples

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/checkout"
)

// Two runs of the demo differ in times, ages, and the width of columns with ages.
var (
	times = regexp.MustCompile(`\b([0-9]+(\.[0-9]+)? ?(ms|[smhd]))+\b`)
	gaps  = regexp.MustCompile(`(\S) {2,}`)
)

// demo runs berth-hub demo with its own temporary folder, and returns the output. It checks that the demo deletes its files.
func demo(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	binary := kit.Must(hubtest.Binary()).In(t)
	var out, problems bytes.Buffer
	command := exec.CommandContext(t.Context(), binary, append([]string{"demo"}, args...)...)
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), "COLUMNS=80", "TMPDIR="+t.TempDir())
	command.Stdout, command.Stderr = &out, &problems
	err = command.Run()
	left, readErr := filepath.Glob(strings.TrimPrefix(command.Env[len(command.Env)-1], "TMPDIR=") + "/*")
	if len(left) > 0 || readErr != nil {
		t.Errorf("remaining files: %v %v", left, readErr)
	}
	return out.String(), problems.String(), err
}

func TestDemoPrints(t *testing.T) {
	stdout, stderr, err := demo(t)
	if err != nil || stderr != "" {
		t.Fatalf("demo: %v, standard error: %q", err, stderr)
	}
	compare(t, filepath.Join("testdata", "demo.golden"), gaps.ReplaceAllString(times.ReplaceAllString(stdout, "T"), "$1  "))
	for line := range strings.Lines(stdout) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > 80 {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}
}

// TestReadmeShowsTheDemo: the first text block of the README is an excerpt of the demo, in its order.
func TestReadmeShowsTheDemo(t *testing.T) {
	readme := kit.Must(os.ReadFile(checkout.Path(t, "README.md"))).In(t)
	golden := kit.Must(os.ReadFile(filepath.Join("testdata", "demo.golden"))).In(t)
	_, block, _ := strings.Cut(string(readme), "```text\n")
	block, _, _ = strings.Cut(block, "```")
	rest := string(golden)
	for line := range strings.Lines(gaps.ReplaceAllString(times.ReplaceAllString(block, "T"), "$1  ")) {
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Fatalf("the demo does not print this line of the README after the lines above: %s", line)
		}
		rest = after
	}
}

func TestDemoRefuses(t *testing.T) {
	bad := t.TempDir()
	for name, content := range map[string]string{"broken.yaml": "{", "nameless.yaml": "kind: Placement"} {
		kit.NoError(t, os.MkdirAll(filepath.Join(bad, name), 0o700))
		kit.NoError(t, os.WriteFile(filepath.Join(bad, name, name), []byte(content), 0o600))
	}
	cases := map[string]struct {
		args []string
		want string
	}{
		"a missing folder":           {[]string{"--examples", filepath.Join(bad, "nowhere")}, "nowhere: no such file or directory"},
		"a file":                     {[]string{"--examples", filepath.Join(bad, "broken.yaml", "broken.yaml")}, "is not a folder"},
		"a folder without manifests": {[]string{"--examples", t.TempDir()}, "there is no .yaml file"},
		"broken YAML":                {[]string{"--examples", filepath.Join(bad, "broken.yaml")}, "parsing broken.yaml"},
		"an object without a name": {
			[]string{"--examples", filepath.Join(bad, "nameless.yaml")},
			"object 1 lacks an apiVersion, a kind or a name",
		},
		"an argument": {[]string{"more"}, "more"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, err := demo(t, tc.args...)
			if err == nil || stdout != "" || !strings.Contains(stderr, tc.want) {
				t.Errorf("demo %v: %v, printed %q and %q; want an error with %q alone", tc.args, err, stdout, stderr, tc.want)
			}
		})
	}
}
