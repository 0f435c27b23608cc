package placement

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

// samples are the values of metrics by name and labels, as they are served: name{label="value",...}.
type samples map[string]float64

func parse(text string) samples {
	out := samples{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || line[0] == '#' {
			continue
		}
		if value, err := strconv.ParseFloat(line[at+1:], 64); err == nil {
			out[line[:at]] = value
		}
	}
	return out
}

// sum adds up the values of a metric over all series that have every one of some labels, given as name="value".
func (s samples) sum(name string, labels ...string) float64 {
	var out float64
next:
	for series, value := range s {
		if series != name && !strings.HasPrefix(series, name+"{") {
			continue
		}
		for _, label := range labels {
			if !strings.Contains(series, label) {
				continue next
			}
		}
		out += value
	}
	return out
}

// read returns the manager's metrics.
func (m *manager) read(ctx context.Context) (samples, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.Metrics+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return parse(string(body)), err
}

// idle waits until the manager has evaluated at least so many placements and has nothing to do, and returns its
// metrics.
func (m *manager) idle(t *testing.T, evaluations float64) samples {
	t.Helper()
	var out samples
	hubtest.Eventually(t, soon, func(ctx context.Context) error {
		read, err := m.read(ctx)
		if err != nil {
			return err
		}
		out = read
		done, waiting := read.sum("berth_placement_evaluations_total"), read.sum("workqueue_depth")
		active := read.sum("controller_runtime_active_workers")
		if done < evaluations || waiting > 0 || active > 0 {
			return fmt.Errorf("%v evaluations of %v, %v waiting, %v active", done, evaluations, waiting, active)
		}
		return nil
	})
	return out
}

// hubMetrics returns the API server's metrics.
func hubMetrics(t *testing.T) samples {
	t.Helper()
	body, err := shared.Client(t).Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return parse(string(body))
}

// writes counts the writes of every kind to Berth's API group that an API server has answered, by resource and verb.
func (s samples) writes() map[string]float64 {
	out := map[string]float64{}
	for series, value := range s {
		if !strings.HasPrefix(series, "apiserver_request_total{") || !strings.Contains(series, `group="cluster.open-cluster-management.io"`) {
			continue
		}
		verb := label(series, "verb")
		switch verb {
		case "GET", "LIST", "WATCH":
			continue
		}
		resource := label(series, "resource")
		if sub := label(series, "subresource"); sub != "" {
			resource += "/" + sub
		}
		out[verb+" "+resource] += value
	}
	return out
}

func label(series, name string) string {
	_, rest, found := strings.Cut(series, name+`="`)
	if !found {
		return ""
	}
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
