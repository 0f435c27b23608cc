package describe_test

import (
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/describe"
)

// runFiles runs a command on the files of the tests of get.
func runFiles(t *testing.T, args ...string) clitest.Result {
	t.Helper()
	return clitest.Run(t, "", append(args, "-f", "../get/testdata/look"), describe.NewCommand)
}

// TestDescribe holds what is shown of an object of each kind.
func TestDescribe(t *testing.T) {
	for name, args := range map[string][]string{
		"placement": {"placement/web", "-n", "shop"}, "cluster": {"managedcluster", "eu-2"}, "set": {"mclset/europe"},
		"binding": {"binding", "global", "-n", "shop"},
	} {
		t.Run(name, func(t *testing.T) {
			got := runFiles(t, append([]string{"describe"}, args...)...)
			if got.Code != command.ExitOK || got.ErrOut != "" {
				t.Fatalf("got %+v", got)
			}
			clitest.Golden(t, "describe-"+name+".txt", got.Out)
		})
	}
	all := runFiles(t, "describe", "clusters")
	if all.Code != command.ExitOK || strings.Count("\n"+all.Out, "\nName:") < 3 {
		t.Errorf("every cluster: got %+v", all)
	}
}

func TestDescribeMisused(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"nothing": {nil, "say what to describe: placement, cluster, set or binding, and its name\nSee 'kubectl berth describe --help'."},
		"another kind": {
			[]string{"placment", "web"},
			`unknown kind "placment": use placement, cluster, set or binding; did you mean placement?`,
		},
		"two names":     {[]string{"set", "a", "b"}, `unexpected argument "b": one name at a time`},
		"not there":     {[]string{"cluster", "x"}, `there is no cluster "x" in the files`},
		"not there, -n": {[]string{"binding/x", "-n", "shop"}, `there is no binding "x" in the namespace shop`},
	} {
		t.Run(name, func(t *testing.T) {
			got := runFiles(t, append([]string{"describe"}, tc.args...)...)
			if got.Code != command.ExitRefused || got.Out != "" || !strings.Contains(got.ErrOut, tc.want) {
				t.Errorf("got %+v, want exit code 2 and %q", got, tc.want)
			}
		})
	}
}
