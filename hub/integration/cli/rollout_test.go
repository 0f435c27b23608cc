package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/cli"
)

// TestRolloutPlan plans a rollout over decisions on the hub.
func TestRolloutPlan(t *testing.T) {
	hubtest.StartManager(t, shared, hubtest.ManagerOptions{})
	s := newFixture(t)
	s.waitDecided(t)
	strategy := filepath.Join(t.TempDir(), "strategy.yaml")
	kit.NoError(t, os.WriteFile(strategy, []byte("type: Progressive\nprogressive: {maxFailures: 1}\n"), 0o600))
	for _, args := range [][]string{{"web", "-n", s.namespace}, {s.namespace + "/web"}} {
		got := run(t.Context(), append([]string{"rollout", "plan", "--strategy", strategy}, args...)...)
		want := s.namespace + "/web: Progressive, 1 cluster in 1 group, at most 1 at a time\n"
		if got.code != cli.ExitOK || !strings.HasPrefix(got.out, want) || !strings.Contains(got.out, s.namespace+"-") || got.errOut != "" {
			t.Errorf("%q: got %+v, want it to begin with %q", args, got, want)
		}
	}
	got := run(t.Context(), "rollout", "plan", "missing", "-n", s.namespace, "--strategy", strategy)
	if got.code != cli.ExitRefused || !strings.Contains(got.errOut,
		"placement "+s.namespace+"/missing is not found: the input holds "+s.namespace+"/web") {
		t.Errorf("got %+v", got)
	}
}
