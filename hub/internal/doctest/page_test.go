package doctest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const page = "# Page\n\n```console\n$ echo one; #\none\n$ cat <<END\n> two\n> END\ntwo\n```\n\n```\n$ not run\n```\nend\n"

func TestParse(t *testing.T) {
	var commands, printed []string
	var text strings.Builder
	for _, part := range Parse(page) {
		text.WriteString(part.Text + part.Printed)
		if part.Command != "" {
			commands, printed = append(commands, part.Command), append(printed, part.Printed)
		}
	}
	if diff := cmp.Diff(page, text.String()); diff != "" {
		t.Errorf("the parts do not make up the page (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"echo one; #", "cat <<END\ntwo\nEND"}, commands); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"one\n", "two\n"}, printed); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

func TestSame(t *testing.T) {
	cases := map[string]struct {
		a, b string
		want bool
	}{
		"equal":               {"a\n", "a\n", true},
		"different":           {"a\n", "b\n", false},
		"ages":                {"web   3s    x\n", "web   2d10h x\n", false},
		"ages and widths":     {"web   3s    x\n", "web   2d10h   x\n", true},
		"times":               {"at 2026-11-20T10:00:00Z", "at 2027-01-01T00:00:00Z", true},
		"ports":               {"https://127.0.0.1:1", "https://127.0.0.1:65000", true},
		"revisions":           {"2 files, 10 bytes, revision 7", "2 files, 9999 bytes, revision 8", true},
		"numbers of files":    {"2 files, 10 bytes, revision 7", "3 files, 10 bytes, revision 7", false},
		"counts are not ages": {"3 selected", "4 selected", false},
		"names are not ages":  {"eu-1", "eu-2", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := EqualOutput(tc.a, tc.b); got != tc.want {
				t.Errorf("Same(%q, %q) = %v, want %v", tc.a, tc.b, got, tc.want)
			}
		})
	}
}

// TestRun: a page is unchanged if its commands print the output that it shows. Any other output is replaced with the printed output.
func TestRun(t *testing.T) {
	cases := map[string]struct{ page, want string }{
		"equal output":   {page, page},
		"another output": {strings.Replace(page, "\none\n", "\nuno\n", 1), page},
		"a variable": {
			"```console\n$ export NAME=x$((1+1))\n$ echo $NAME\nx2\n```\n",
			"```console\n$ export NAME=x$((1+1))\n$ echo $NAME\nx2\n```\n",
		},
		"in the background": {
			"```console\n$ sh -c 'echo up; exec sleep 60' &\nup\n```\n",
			"```console\n$ sh -c 'echo up; exec sleep 60' &\nup\n```\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			runner := NewRunner(Options{Folder: t.TempDir(), Limit: 2 * time.Second})
			got, err := runner.Run(t.Context(), tc.page)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("page (-want +got):\n%s", diff)
			}
			if err := runner.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestABackgroundCommandThatFailsEndsThePage is why a page whose server does not start fails at once, with what the server printed.
func TestABackgroundCommandThatFailsEndsThePage(t *testing.T) {
	for name, output := range map[string]string{"printed": "", "in a file": " 2> log"} {
		t.Run(name, func(t *testing.T) {
			runner := NewRunner(Options{Folder: t.TempDir(), Limit: time.Minute})
			server := "until test -e go; do sleep 0.1; done; echo the port is taken >&2; exit 3"
			page := "```console\n$ sh -c '" + server + "'" + output + " &\n$ touch go\nnever\n```\n"
			_, err := runner.Run(t.Context(), page)
			if err == nil || !strings.Contains(err.Error(), "has ended: exit status 3: the port is taken") {
				t.Errorf("got error %v, want one with the output of the command", err)
			}
			if err := runner.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
