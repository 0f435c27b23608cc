//go:build slow

package monitoring

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestPromtoolAcceptsTheFiles checks the unchanged files with promtool.
func TestPromtoolAcceptsTheFiles(t *testing.T) {
	for _, check := range [][]string{{"rules", "alerts.yaml"}, {"config", "scrape.yaml"}} {
		command := exec.CommandContext(t.Context(), binaryPath(t, "promtool"), "check", check[0], filepath.Join(monitoringDir, check[1]))
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("promtool check %s %s: %v: %s", check[0], check[1], err, out)
		}
	}
}

// TestDashboardAndAlerts lets a manager decide placements of several kinds while Prometheus scrapes it. Every query of the dashboard
// and every compared expression of an alert must have data. Exactly the expected alerts must fire.
func TestDashboardAndAlerts(t *testing.T) {
	manager := hubtest.StartManager(t, shared, hubtest.ManagerOptions{
		Webhooks: true, AllowErrors: true, // the webhooks have a certificate, and the source of the scores does not respond
		Args: []string{"--controllers=*,replicaset,score", "--score-config=" + deadSource(t)},
	})
	p := startPrometheus(t, manager.MetricsAddress)
	f := newFleet(t)
	f.placement("good", clusterv1beta1.PlacementConditionSatisfied, nil)
	f.placement("held", clusterv1beta1.PlacementConditionSatisfied, exact)
	wrong := f.placement("wrong", clusterv1beta1.PlacementConditionMisconfigured, unreadable)
	kit.NoError(t, f.setOpen(t.Context(), 1, false))
	p.awaitValues(t, f, append(append(dashboardQueries(t), alertExpressions(t)...), `workqueue_depth{name="placement"}`))
	p.awaitFiring(t, "BerthPlacementsMisconfigured", "BerthPlacementsNotSatisfied", "BerthRemovalsHeld", "BerthScoresFailing")

	f.MustDelete(wrong)
	p.awaitFiring(t, "BerthRemovalsHeld", "BerthScoresFailing")

	manager.Stop()
	p.awaitFiring(t, "BerthManagerDown")
}

// deadSource returns a file with a score whose source has no server.
func deadSource(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "scores.yaml")
	text := fmt.Sprintf("sources: [{name: dead, url: %q}]\nscores: [{name: free, query: free, min: 0, max: 1, interval: 5s}]\n",
		"http://"+hubtest.FreeAddress(t))
	kit.NoError(t, os.WriteFile(out, []byte(text), 0o600))
	return out
}

// awaitValues waits until every query has a number, and keeps the manager busy meanwhile.
func (p *prometheus) awaitValues(t *testing.T, f *fleet, queries []string) {
	t.Helper()
	if len(queries) < 30 {
		t.Errorf("the dashboard has only %d queries: %q", len(queries), queries)
	}
	kit.Await(t, "every query has a number, and keeps the manager busy meanwhile", func(ctx context.Context) error {
		if err := f.toggleLast(ctx); err != nil {
			return err
		}
		var last error
		queries = slices.DeleteFunc(queries, func(query string) bool {
			values, err := p.query(ctx, query)
			values = slices.DeleteFunc(values, func(value string) bool { return value == "NaN" })
			if err != nil || len(values) == 0 {
				last = fmt.Errorf("no data: %s: %v", query, err) //nolint:errorlint // it may be nil
			}
			return len(values) > 0
		})
		return last
	})
}

// awaitFiring waits until exactly some alerts fire.
func (p *prometheus) awaitFiring(t *testing.T, want ...string) {
	t.Helper()
	kit.Await(t, "exactly some alerts fire", func(ctx context.Context) error {
		got, err := p.firing(ctx)
		if err != nil {
			return err
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("the alerts %v fire, want %v", got, want)
		}
		return nil
	})
}

// dashboardQueries returns the queries of the dashboard, as Grafana sends them.
func dashboardQueries(t *testing.T) []string {
	t.Helper()
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	read(t, "dashboard.json", &board)
	variables := strings.NewReplacer("$job", "berth", "$__rate_interval", "1m")
	var out []string
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			query := variables.Replace(target.Expr)
			if strings.Contains(query, "$") {
				t.Errorf("panel %q uses a variable that the test does not replace: %s", panel.Title, query)
			}
			out = append(out, query)
		}
	}
	return out
}

// comparison matches the end of an alert's expression. The text before it is the compared expression.
var comparison = regexp.MustCompile(`^(.*\S) (<|>|==) [0-9.]+$`)

// alertExpressions returns the compared expression of each alert. Most alerts do not fire, so their whole expressions have no data.
func alertExpressions(t *testing.T) []string {
	t.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	read(t, "alerts.yaml", &rules)
	var out []string
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			parts := comparison.FindStringSubmatch(rule.Expr)
			if parts == nil {
				t.Fatalf("alert %s does not end in a comparison with a number: %s", rule.Alert, rule.Expr)
			}
			out = append(out, parts[1])
		}
	}
	return out
}
