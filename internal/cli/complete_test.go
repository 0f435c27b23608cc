package cli_test

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/internal/cli"
	"github.com/berth-project/berth/internal/cli/clitest"
)

// freeFlags take what no program can list: files, which a shell completes by itself, instants, numbers, selectors, and users.
func freeFlags() map[string]string {
	return map[string]string{
		"hub-url": "an address of its own",
		"group":   "a name or an index of a group",
		"label":   "a label of a new cluster",
		"reason":  "a text",
		"ttl":     "a length of time", "timeout": "a length of time", "member-kubeconfig": "file",
		"hub": "an address of its own", "token": "secret", "ca-hash": "hash", "ca-file": "file", "image": "image", "dir": "folder",
		"filename": "file", "base": "file", "strategy": "file", "status": "file", "kubeconfig": "file",
		"to-revision": "number", "now": "instant", "at": "instant", "since": "instant", "request-timeout": "duration", "duration": "duration",
		"selector": "selector", "drain": "selector", "as": "user", "as-group": "user", "v": "number",
		"service-account": "a name in another namespace", "claim": "a name that members choose", "repo": "an address of its own",
		"path": "a path in a repository",
		"poll": "duration", "context-name": "a pattern",
		"max-objects": "number", "port": "number", "max-size": "number", "fleet": "number", "seed": "number", "failure-rate": "number",
		"hang-rate": "number", "spread": "number",
	}
}

// TestEveryFlagCompletes checks that a shell completes each flag with a value from a fixed set, the name of an object or a
// namespace. Flags with any other value are listed.
func TestEveryFlagCompletes(t *testing.T) {
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}
	root := cli.NewRoot(streams, clitest.Clock())
	free, used, flags := freeFlags(), map[string]bool{}, 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Value.Type() == "bool" || flag.Hidden {
				return
			}
			flags++
			_, completes := cmd.GetFlagCompletionFunc(flag.Name)
			switch {
			case free[flag.Name] != "":
				used[flag.Name] = true
			case !completes:
				t.Errorf("%s: --%s (%s) completes nothing", cmd.CommandPath(), flag.Name, flag.Usage)
			}
		})
		for _, below := range cmd.Commands() {
			walk(below)
		}
	}
	walk(root)
	for name := range free {
		if !used[name] {
			t.Errorf("--%s is listed as free, and no command has it", name)
		}
	}
	if flags < 50 {
		t.Errorf("only %d flags were looked at", flags)
	}
}

// TestCompletionValues holds what a shell is offered without a hub.
func TestCompletionValues(t *testing.T) {
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	for name, tc := range map[string]struct{ args, want string }{
		"kinds":                      {"get ", "placements\nclusters\nsets\ngroups\n:4\n"},
		"kinds to describe":          {"describe ", "placements\nclusters\nsets\nbindings\n:4\n"},
		"kinds to delete":            {"diff --delete ", "cluster/\nset/\nbinding/\nplacement/\nscore/\n:2\n"},
		"outputs":                    {"get pl -o j", "json\njsonpath=\njsonpath-as-json=\njsonpath-file=\n:4\n"},
		"outputs with an expression": {"get pl -o go", "go-template=\ngo-template-file=\n:6\n"},
		"outputs of a version":       {"version -o ", "json\nyaml\n:4\n"},
		"levels of checks":           {"simulate --validate ", "strict\nwarn\nignore\n:4\n"},
		"contexts":                   {"get pl --context ", "nowhere\n:4\n"},
		"users":                      {"get pl --user ", "reader\n:4\n"},
		"shells":                     {"completion ", "bash\nzsh\nfish\npowershell\n:4\n"},
		"commands":                   {"sim", "simulate\tDecide placements offline, from files\n:4\n"},
	} {
		t.Run(name, func(t *testing.T) {
			args := strings.Fields(tc.args)
			if strings.HasSuffix(tc.args, " ") {
				args = append(args, "")
			}
			if got := run(t, "", append([]string{"__complete"}, args...)...); got.Out != tc.want {
				t.Errorf("offered %q, want %q", got.Out, tc.want)
			}
		})
	}
}
