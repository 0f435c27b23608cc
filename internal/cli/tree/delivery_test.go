package tree_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/cli/clitest"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/tree"
	"github.com/berth-project/berth/internal/delivery/plan/plantest"
)

func run(t *testing.T, stdin string, args ...string) clitest.Result {
	t.Helper()
	return clitest.Run(t, stdin, args, tree.NewCommand)
}

func TestTreeOfADelivery(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	many := plantest.New(t, clitest.Now(), "{type: All}", plantest.Group{Clusters: plantest.Clusters("edge", 30)})
	many.Succeed(many.Step()...)
	many.Step() // it records the end
	for file, tc := range map[string]struct {
		state *plantest.State
		args  []string
	}{
		"placement": {clitest.Breached(t), []string{"placement", "fleet"}},
		"set":       {clitest.Breached(t), []string{"mwrs", "web"}},
		"many":      {many, []string{"manifestworkreplicaset/web", "-n", "shop"}},
	} {
		t.Run(file, func(t *testing.T) {
			args := append(append([]string{"tree"}, tc.args...), "-f", "-")
			got := run(t, tc.state.YAML(), args...)
			if got.Code != command.ExitOK || got.ErrOut != "" {
				t.Fatalf("exit code %d, standard error:\n%s", got.Code, got.ErrOut)
			}
			for line := range strings.Lines(got.Out) {
				if len([]rune(strings.TrimSuffix(line, "\n"))) > printer.DefaultWidth {
					t.Errorf("a line is wider than the screen: %q", line)
				}
			}
			clitest.Golden(t, "tree-delivery-"+file+".txt", got.Out)
			data := struct {
				Sets []struct {
					Works []struct {
						Objects []json.RawMessage `json:"objects"`
					} `json:"works"`
				} `json:"sets"`
			}{}
			asData := run(t, tc.state.YAML(), append(args, "-o", "json")...)
			if err := json.Unmarshal([]byte(asData.Out), &data); err != nil {
				t.Fatal(err)
			}
			if len(data.Sets) != 1 || len(data.Sets[0].Works) != len(tc.state.Works) || len(data.Sets[0].Works[0].Objects) != 1 {
				t.Errorf("got %s", asData.Out)
			}
		})
	}
}
