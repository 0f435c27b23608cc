//go:build slow

package monitoring

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	root          = "../../.."
	monitoringDir = root + "/config/monitoring"
	// scrapeInterval is the scrape interval of the test. The interval in the repository is longer.
	scrapeInterval = "1s"
)

// binaryPath returns the path of a program in bin, which make installs.
func binaryPath(t *testing.T, name string) string {
	t.Helper()
	path := kit.Must(filepath.Abs(filepath.Join(root, "bin", name))).In(t)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("there is no %s, run at the root of the repository: make bin/prometheus", path)
	}
	return path
}

// prometheus is a running Prometheus.
type prometheus struct{ address string }

// startPrometheus runs Prometheus with the configuration and the rules of the repository. The manager has another address, the
// intervals are shorter, and alerts fire without a delay. At the end of the test it stops, and its data is deleted.
func startPrometheus(t *testing.T, manager string) *prometheus {
	t.Helper()
	dir := t.TempDir()
	rewrite(t, "scrape.yaml", dir, func(config object) {
		global := config.object("global")
		global["scrape_interval"], global["evaluation_interval"] = scrapeInterval, scrapeInterval
		job := config.list("scrape_configs")[0]
		job.list("static_configs")[0]["targets"] = []any{manager}
	})
	rewrite(t, "alerts.yaml", dir, func(config object) {
		for _, group := range config.list("groups") {
			for _, rule := range group.list("rules") {
				delete(rule, "for")
			}
		}
	})
	return &prometheus{address: hubtest.StartPrometheus(t, filepath.Join(dir, "scrape.yaml"))}
}

// object is a part of a configuration.
type object map[string]any

func (o object) object(key string) object { return o[key].(map[string]any) }

func (o object) list(key string) []object {
	var out []object
	for _, item := range o[key].([]any) {
		out = append(out, item.(map[string]any))
	}
	return out
}

// rewrite copies a file of the repository to another folder, and changes the copy.
func rewrite(t *testing.T, name, to string, change func(object)) {
	t.Helper()
	config := object{}
	read(t, name, &config)
	change(config)
	text := kit.Must(yaml.Marshal(config)).In(t)
	kit.NoError(t, os.WriteFile(filepath.Join(to, name), text, 0o600))
}

// read reads a file of the repository, YAML or JSON.
func read(t *testing.T, name string, into any) {
	t.Helper()
	text := kit.Must(os.ReadFile(filepath.Join(monitoringDir, name))).In(t)
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// query returns the current values of a query, as text.
func (p *prometheus) query(ctx context.Context, expression string) ([]string, error) {
	var data struct {
		Result []struct {
			Value []any `json:"value"`
		} `json:"result"`
	}
	if err := p.get(ctx, "query?query="+url.QueryEscape(expression), &data); err != nil {
		return nil, err
	}
	var out []string
	for _, series := range data.Result {
		if len(series.Value) != 2 {
			return nil, fmt.Errorf("%s returns %v, want a time and a value", expression, series.Value)
		}
		out = append(out, fmt.Sprint(series.Value[1]))
	}
	return out, nil
}

// firing returns the alerts that fire, sorted.
func (p *prometheus) firing(ctx context.Context) ([]string, error) {
	var data struct {
		Alerts []struct {
			State  string            `json:"state"`
			Labels map[string]string `json:"labels"`
		} `json:"alerts"`
	}
	if err := p.get(ctx, "alerts", &data); err != nil {
		return nil, err
	}
	var out []string
	for _, alert := range data.Alerts {
		if alert.State == "firing" {
			out = append(out, alert.Labels["alertname"])
		}
	}
	slices.Sort(out)
	return out, nil
}

// get reads from the API of Prometheus.
func (p *prometheus) get(ctx context.Context, what string, data any) error {
	_, body, err := kit.Page(ctx, "http://"+p.address+"/api/v1/"+what)
	if err != nil {
		return err
	}
	answer := struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		Data   any    `json:"data"`
	}{Data: data}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		return fmt.Errorf("%s responds %s: %w", what, strings.TrimSpace(body), err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s responds %s: %s", what, answer.Status, answer.Error)
	}
	return nil
}
