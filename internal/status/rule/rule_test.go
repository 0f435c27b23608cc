package rule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/config/monitoring"
	"github.com/berth-project/berth/internal/status/rule"
)

var now = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// sampled returns a window with a sample each minute, whose last is at now. Each text has the series of one sample, as metric{label=value}
// number.
func sampled(samples ...string) *rule.Window {
	out := rule.NewWindow(64)
	for i, text := range samples {
		sample := rule.Sample{At: now.Add(time.Duration(i-len(samples)+1) * time.Minute), Series: map[string][]rule.Series{}}
		for line := range strings.SplitSeq(text, ";") {
			head, number, _ := strings.Cut(strings.TrimSpace(line), " ")
			name, labels, _ := strings.Cut(strings.TrimSuffix(head, "}"), "{")
			series := rule.Series{Labels: map[string]string{}}
			for pair := range strings.SplitSeq(labels, ",") {
				if key, value, ok := strings.Cut(pair, "="); ok {
					series.Labels[key] = value
				}
			}
			if _, err := fmt.Sscan(number, &series.Value); err != nil {
				continue
			}
			sample.Series[name] = append(sample.Series[name], series)
		}
		out.Add(sample)
	}
	return out
}

func TestFigures(t *testing.T) {
	m := rule.Metric("m")
	cases := map[string]struct {
		figure  rule.Figure
		expr    string
		samples []string
		want    []float64
	}{
		"the values of a metric": {m.Latest(), "m", []string{"m{a=x} 1;m{a=y} 2"}, []float64{1, 2}},
		"a sum over all series":  {rule.Sum(m.Latest()), "sum(m)", []string{"m{a=x} 1;m{a=y} 2"}, []float64{3}},
		"a sum by a label": {
			rule.Sum(m.Latest(), "a"), "sum by (a) (m)",
			[]string{"m{a=x,b=1} 1;m{a=x,b=2} 2;m{a=y} 5"},
			[]float64{3, 5},
		},
		"the smallest": {rule.Min(m.Latest()), "min(m)", []string{"m{a=x} 3;m{a=y} 2"}, []float64{2}},
		"the largest of each kind, added": {
			rule.Sum(rule.Max(m.Latest(), "k")), "sum(max by (k) (m))",
			[]string{"m{k=a,r=1} 1;m{k=a,r=2} 3;m{k=b} 4"},
			[]float64{7},
		},
		"an absent metric has no value": {rule.Max(m.Latest()), "max(m)", []string{"n 1"}, nil},
		"a rate":                        {m.Rate(5 * time.Minute), "rate(m[5m])", []string{"m 0", "m 60", "m 180"}, []float64{1.5}},
		"an increase over a restart": {
			m.Increase(5 * time.Minute), "increase(m[5m])",
			[]string{"m 100", "m 110", "m 5", "m 7"},
			[]float64{17},
		},
		"older samples do not count": {
			m.Increase(2 * time.Minute), "increase(m[2m])",
			[]string{"m 0", "m 100", "m 101", "m 103"},
			[]float64{3},
		},
		"one sample has no rate": {m.Rate(5 * time.Minute), "rate(m[5m])", []string{"m 1"}, nil},
		"each series grows alone": {
			m.Increase(5 * time.Minute), "increase(m[5m])",
			[]string{"m{a=x} 1;m{a=y} 5", "m{a=w} 9;m{a=x} 3;m{a=y} 6"},
			[]float64{1, 2},
		},
		"a quantile": {
			rule.Quantile(0.5, rule.Sum(m.Latest(), "le")), "histogram_quantile(0.5, sum by (le) (m))",
			[]string{"m{le=1} 0;m{le=3} 10;m{le=+Inf} 10"},
			[]float64{2},
		},
		"a quantile beyond the last bound": {
			rule.Quantile(0.99, rule.Sum(m.Latest(), "le")), "histogram_quantile(0.99, sum by (le) (m))",
			[]string{"m{le=1} 1;m{le=3} 2;m{le=+Inf} 100"},
			[]float64{3},
		},
		"a quantile without observations": {
			rule.Quantile(0.5, rule.Sum(m.Latest(), "le")), "histogram_quantile(0.5, sum by (le) (m))",
			[]string{"m{le=1} 0;m{le=+Inf} 0"},
			nil,
		},
		"matchers": {
			rule.Sum(rule.Metric("m", rule.Equal("a", "x"), rule.Unequal("b", "2"), rule.OneOf("c", "p", "q")).Latest()),
			`sum(m{a="x",b!="2",c=~"p|q"})`,
			[]string{"m{a=x,b=1,c=p} 1;m{a=x,b=2,c=p} 10;m{a=x,b=1,c=pq} 100;m{a=y,b=1,c=q} 1000"},
			[]float64{1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []float64
			for _, series := range tc.figure.Evaluate(sampled(tc.samples...)) {
				got = append(got, series.Value)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" || tc.figure.Expr() != tc.expr || tc.figure.Metric() != "m" {
				t.Errorf("%s, want %s (-want +got):\n%s", tc.figure.Expr(), tc.expr, diff)
			}
		})
	}
}

// TestOtherRulesAreRefused changes the shipped rules: another expression than that of the condition, and an alert without a condition.
func TestOtherRulesAreRefused(t *testing.T) {
	shipped := string(monitoring.Alerts())
	for name, text := range map[string]string{
		"another expression": strings.Replace(shipped, "sum(berth_held_removals) > 0", "sum(berth_held_removals) > 1", 1),
		"another alert":      strings.Replace(shipped, "alert: BerthRemovalsHeld", "alert: BerthRemovalsKept", 1),
		"no YAML":            "\t",
	} {
		if _, err := rule.Read([]byte(text)); err == nil || text == shipped {
			t.Errorf("%s: the rules are read, want an error", name)
		}
	}
}

// firing are series that make each shipped alert fire, after whatever time.
func firing() map[string][]string {
	return map[string][]string{
		"BerthHealthSuspended":          {"berth_health_suspended 1"},
		"BerthManagerClockSuspected":    {"berth_health_manager_clock_suspected 1"},
		"BerthUnjoinedClustersSelected": {"berth_health_unjoined_selected 3"},
		"BerthPlacementsMisconfigured":  {"berth_placements{type=PlacementMisconfigured,reason=Misconfigured} 2"},
		"BerthPlacementsNotSatisfied":   {"berth_placements{type=PlacementSatisfied,reason=NoManagedClusterMatched} 2"},
		"BerthWritesFailing":            {"berth_plan_writes_total{result=failed} 0", "berth_plan_writes_total{result=failed} 4"},
		"BerthDecisionsSlow": {
			"berth_event_to_decision_seconds_bucket{le=30} 0;berth_event_to_decision_seconds_bucket{le=60} " +
				"0;berth_event_to_decision_seconds_bucket{le=+Inf} 0",
			"berth_event_to_decision_seconds_bucket{le=30} 0;berth_event_to_decision_seconds_bucket{le=60} " +
				"9;berth_event_to_decision_seconds_bucket{le=+Inf} 9",
		},
		"BerthRemovalsHeld":    {"berth_held_removals 1"},
		"BerthHolds":           {"berth_holds{kind=Breach} 1"},
		"BerthExpressionHeld":  {"berth_holds{kind=Expression} 1"},
		"BerthWorksRefused":    {"berth_work_writes_total{result=refused} 0", "berth_work_writes_total{result=refused} 1"},
		"BerthDeliveryHeld":    {"berth_delivery_held 7"},
		"BerthEvictionsHeld":   {"berth_clusters_evictions_held 1"},
		"BerthScoresFailing":   {"berth_score_failing{score=cpu} 1;berth_score_failing{score=memory} 0"},
		"BerthHubLacks":        {"berth_hub_lacks{kind=field} 1"},
		"BerthRoleUnguarded":   {"berth_role_unguarded{role=r} 1"},
		"BerthCertificateEnds": {fmt.Sprintf("berth_certificate_end_timestamp_seconds %d", now.Add(24*time.Hour).Unix())},
	}
}

// TestShippedAlerts lets every shipped alert be quiet, wait and fire.
func TestShippedAlerts(t *testing.T) {
	rules, err := rule.Read(monitoring.Alerts())
	if err != nil {
		t.Fatal(err)
	}
	all := firing()
	for _, each := range rules {
		quiet := each.Evaluate(sampled("other 1"), time.Time{})
		if each.Alert == "BerthManagerDown" {
			if quiet.State != rule.Elsewhere {
				t.Errorf("%s is %s, want elsewhere: only Prometheus has its metric", each.Alert, quiet.State)
			}
			continue
		}
		samples, known := all[each.Alert]
		delete(all, each.Alert)
		if !known {
			t.Errorf("there are no series for %s", each.Alert)
			continue
		}
		if quiet.State != rule.Quiet || quiet.Summary != "" {
			t.Errorf("%s is %s with %q, want quiet without a summary", each.Alert, quiet.State, quiet.Summary)
		}
		began := each.Evaluate(sampled(samples...), time.Time{})
		if want := map[bool]rule.State{true: rule.Firing, false: rule.Pending}[each.For == ""]; began.State != want || began.Since == nil ||
			!began.Since.Equal(now) {
			t.Errorf("%s is %s since %v, want %s since now", each.Alert, began.State, began.Since, want)
		}
		fires := each.Evaluate(sampled(samples...), now.Add(-2*time.Hour))
		if fires.State != rule.Firing || fires.Summary == "" || strings.Contains(fires.Summary, "{{") || fires.Action == "" {
			t.Errorf("%s is %s with %q and the action %q, want firing with both", each.Alert, fires.State, fires.Summary, fires.Action)
		}
	}
	for name := range all {
		t.Errorf("%s is not shipped", name)
	}
}

func TestSampleOfARegistry(t *testing.T) {
	registry := prometheus.NewRegistry()
	histogram := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "h", Help: "h", Buckets: []float64{1, 2}})
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "c", Help: "c"}, []string{"result"})
	registry.MustRegister(histogram, counter, prometheus.NewGauge(prometheus.GaugeOpts{Name: "unwanted", Help: "u"}))
	histogram.Observe(1.5)
	counter.WithLabelValues("stored").Add(3)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := rule.NewSample(now, families, func(name string) bool { return name != "unwanted" })
	want := rule.Sample{At: now, Series: map[string][]rule.Series{
		"h_count": {{Labels: map[string]string{}, Value: 1}}, "h_sum": {{Labels: map[string]string{}, Value: 1.5}},
		"h_bucket": {{map[string]string{"le": "1"}, 0}, {map[string]string{"le": "2"}, 1}, {map[string]string{"le": "+Inf"}, 1}},
		"c":        {{map[string]string{"result": "stored"}, 3}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the sample (-want +got):\n%s", diff)
	}
}
