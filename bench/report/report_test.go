package report_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/bound"
	"github.com/berth-project/berth/bench/report"
)

func TestTable(t *testing.T) {
	most, least := 1.5, 75.0
	var got strings.Builder
	err := report.WriteTable(&got, []bound.Result{
		{
			Run: "webhook", Figure: bench.Figure{Name: "a label, p50", Value: 1.023, Unit: bench.Ratio, Detail: "2 ms / 1.9 ms"},
			Bound: &bound.Bound{Max: &most, Runs: 5, Mean: 1, Spread: 0.1},
		},
		{
			Run: "webhook", Figure: bench.Figure{Name: "rate", Value: 12.34, Unit: bench.PerSecond},
			Bound: &bound.Bound{Min: &least, Runs: 5, Mean: 100, Spread: 1}, Violation: "too low",
		},
		{Run: "cold", Figure: bench.Figure{Name: "memory", Value: 1234.5, Unit: bench.MiB}},
		{Run: "cold", Figure: bench.Figure{Name: "gone", Value: math.NaN()}, Bound: &bound.Bound{Max: &most}, Violation: "not measured"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimLeft(`
| run     | figure       | measured | from          | bound            | mean ± spread in runs |                      |
| ------- | ------------ | -------- | ------------- | ---------------- | --------------------- | -------------------- |
| webhook | a label, p50 | 1.02x    | 2 ms / 1.9 ms | at most 1.50x    | 1 ± 0.1 in 5          | ok                   |
| webhook | rate         | 12.3 /s  |               | at least 75.0 /s | 100 ± 1 in 5          | BROKEN: too low      |
| cold    | memory       | 1234 MiB |               |                  |                       |                      |
| cold    | gone         | -        |               | at most 1.5      | 0 ± 0 in 0            | BROKEN: not measured |
`, "\n")
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestEvidence(t *testing.T) {
	cases := map[string]struct {
		values []float64
		want   report.Evidence
	}{
		"one value has no spread": {[]float64{3}, report.Evidence{Runs: 1, Mean: 3, Min: 3, Max: 3}},
		"three values":            {[]float64{1, 3, 2}, report.Evidence{Runs: 3, Mean: 2, Spread: 1, Min: 1, Max: 3}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := report.Summarize(tc.values)
			got.Mean, got.Spread = math.Round(got.Mean*1e9)/1e9, math.Round(got.Spread*1e9)/1e9
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("evidence (-want +got):\n%s", diff)
			}
		})
	}
}
