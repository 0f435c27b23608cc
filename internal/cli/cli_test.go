package cli_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/internal/cli"
	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/command"
)

func run(t *testing.T, stdin string, args ...string) clitest.Result {
	t.Helper()
	return clitest.Capture(stdin, func(streams genericiooptions.IOStreams) int {
		return cli.Run(t.Context(), args, streams, clitest.Clock())
	})
}

func TestVersion(t *testing.T) {
	got := run(t, "", "version")
	if got.Code != command.ExitOK || !strings.HasPrefix(got.Out, "kubectl-berth ") || got.ErrOut != "" {
		t.Errorf("got %+v", got)
	}
}

// TestVersionAsData holds that the version has the form of kubectl's, and is one.
func TestVersionAsData(t *testing.T) {
	for _, form := range []string{"json", "yaml"} {
		got := run(t, "", "version", "-o", form)
		var out struct {
			ClientVersion struct{ GitVersion, GoVersion, Platform string }
		}
		if err := yaml.Unmarshal([]byte(got.Out), &out); err != nil {
			t.Fatal(err)
		}
		found := out.ClientVersion
		if got.Code != command.ExitOK || found.GitVersion == "" || found.GitVersion == "unknown" || found.GoVersion == "" ||
			found.Platform == "" {
			t.Errorf("%s: got %+v", form, got)
		}
	}
	if got := run(t, "", "version", "-o", "xml"); got.Code != command.ExitRefused || !strings.Contains(got.ErrOut,
		`unknown output "xml": use json or yaml, or leave it out`) {
		t.Errorf("got %+v", got)
	}
}

func TestHelpGoesToStandardOutput(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"simulate", "--help"}, {"help", "simulate"}} {
		got := run(t, "", args...)
		if got.Code != command.ExitOK || !strings.Contains(got.Out, "kubectl berth") || got.ErrOut != "" {
			t.Errorf("%q: got %+v", args, got)
		}
	}
	clitest.Golden(t, "test-help.txt", run(t, "", "test", "--help").Out)
	clitest.Golden(t, "simulate-help.txt", run(t, "", "simulate", "--help").Out)
}

func TestCommandLinesThatAreRefused(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"an unknown command":      {[]string{"launch"}, "unknown command \"launch\"\nSee 'kubectl berth --help'."},
		"an unknown flag":         {[]string{"simulate", "--launch"}, "unknown flag: --launch\nSee 'kubectl berth simulate --help'."},
		"an argument":             {[]string{"simulate", "x"}, `unexpected argument "x"`},
		"an argument for version": {[]string{"version", "x"}, `unexpected argument "x"`},
		"nothing to read":         {[]string{"simulate"}, "give at least one file"},
		"an unknown output":       {[]string{"simulate", "-f", "-", "-o", "wide"}, `unknown output "wide": use table, yaml or json`},
		"an instant that is none": {[]string{"simulate", "-f", "-", "--now", "noon"}, `--now "noon" is not in RFC 3339 form`},
		"nothing to test": {
			[]string{"test"},
			"nothing to run: give at least one scenario, or a folder of them\nSee 'kubectl berth test --help'.",
		},
		"an unknown report":         {[]string{"test", "x", "-o", "xml"}, `unknown output "xml": use text, json or junit`},
		"a seed without a fleet":    {[]string{"simulate", "-f", "-", "--seed", "1"}, "needs a generated fleet: give its size with --fleet"},
		"no fleet to print":         {[]string{"simulate", "-f", "-", "--print-fleet"}, "needs a generated fleet: give its size with --fleet"},
		"a fleet without a cluster": {[]string{"simulate", "-f", "-", "--fleet", "0"}, "a generated fleet has 1 to 10000 clusters"},
		"a fleet that is too large": {[]string{"simulate", "-f", "-", "--fleet", "10001"}, "a generated fleet has 1 to 10000 clusters"},
		"a seed that is none": {
			[]string{"simulate", "-f", "-", "--fleet", "5", "--seed", "-1"},
			`invalid argument "-1" for "--seed" flag`,
		},
		"a fleet and nothing else":  {[]string{"simulate", "--fleet", "5"}, "give placements with -f, or see it with --print-fleet"},
		"a fleet printed for later": {[]string{"simulate", "--fleet", "5", "--print-fleet", "--at", "+1h"}, "--at has no meaning"},
		"a fleet printed and checked": {
			[]string{"simulate", "--fleet", "5", "--print-fleet", "--require-satisfied"},
			"--require-satisfied has no meaning",
		},
		"a later instant that is none": {
			[]string{"simulate", "-f", "-", "--at", "soon"},
			`--at "soon" is neither an offset such as +10m, nor an instant such as 2026-11-20T10:00:00Z, nor next`,
		},
		"an offset back": {[]string{"simulate", "-f", "-", "--at", "+-5m"}, `--at "+-5m" is neither`},
		"an instant long gone": {
			[]string{"simulate", "-f", "-", "--at", "2026-11-20T09:59:59Z"},
			"is before 2026-11-20T10:00:00Z: give instants in order",
		},
		"instants out of order": {[]string{"simulate", "-f", "-", "--at", "+10m", "--at", "+5m"}, "--at +5m is before 2026-11-20T10:10:00Z"},
		"too many instants": {
			append([]string{"simulate", "-f", "-"}, strings.Fields(strings.Repeat("--at next ", 101))...), "--at is given 101 times: at most 100",
		},
		"an offset that next has passed": {
			[]string{"simulate", "-f", "../../examples/simulate/outage", "--at", "next", "--at", "+5m"},
			"--at +5m comes after 2026-11-20T10:10:00Z, which is later",
		},
		"a namespace that is none": {
			[]string{"simulate", "-f", "simulate/testdata/accepted/forms.yaml", "-n", "No_Namespace"},
			`metadata.namespace: Invalid value: "No_Namespace"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := run(t, "", tc.args...)
			if got.Code != command.ExitRefused || got.Out != "" || !strings.Contains(got.ErrOut, tc.want) {
				t.Errorf("got %+v, want exit code 2 and %q on standard error", got, tc.want)
			}
		})
	}
}

// failingWriter is a writer that cannot be written to.
type failingWriter struct{ err error }

func (f failingWriter) Write([]byte) (int, error) { return 0, f.err }

var errBoom = errors.New("boom")

func write(t *testing.T, err error, args ...string) clitest.Result {
	t.Helper()
	var errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: failingWriter{err}, ErrOut: &errOut}
	return clitest.Result{Code: cli.Run(t.Context(), args, streams, clitest.Clock()), ErrOut: errOut.String()}
}

func TestWritingFails(t *testing.T) {
	got := write(t, errBoom, "simulate", "-f", "../../examples/simulate/outage")
	if got.Code != command.ExitRefused || !strings.Contains(got.ErrOut, "writing the result: boom") {
		t.Errorf("got %+v", got)
	}
}

func TestClosedPipeIsSilent(t *testing.T) {
	broken := &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
	for _, args := range [][]string{{"simulate", "-f", "../../examples/simulate/outage"}, {"version"}} {
		if got := write(t, broken, args...); got != (clitest.Result{}) {
			t.Errorf("%q: got %+v, want silence", args, got)
		}
	}
}

// panickingReader is a reader whose author made a mistake.
type panickingReader struct{}

func (panickingReader) Read([]byte) (int, error) { panic("out of cheese") }

// TestPanicIsReported holds that a defect of Berth comes with its stack, which is all that a report of it needs.
func TestPanicIsReported(t *testing.T) {
	var errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: panickingReader{}, Out: io.Discard, ErrOut: &errOut}
	code := cli.Run(t.Context(), []string{"simulate", "-f", "-"}, streams, clitest.Clock())
	if code != command.ExitRefused || !strings.Contains(errOut.String(), "please report it") || !strings.Contains(errOut.String(),
		"panickingReader.Read") {
		t.Errorf("exit code %d, standard error:\n%s", code, errOut.String())
	}
}
