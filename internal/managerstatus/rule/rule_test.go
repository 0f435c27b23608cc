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
	"github.com/berth-project/berth/internal/managerstatus/rule"
)

var now = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// sampled returns a window with a sample each minute, whose last is at now. Each text has the series of one sample, as metric{label=value} number.
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

func TestExpressions(t *testing.T) {
	cases := map[string]struct {
		expr    string
		samples []string
		want    []float64
	}{
		"a comparison keeps what meets it":          {"m > 1", []string{"m{a=x} 1;m{a=y} 2"}, []float64{2}},
		"a sum over all series":                     {"sum(m)", []string{"m{a=x} 1;m{a=y} 2"}, []float64{3}},
		"a sum by a label":                          {"sum by (a) (m)", []string{"m{a=x,b=1} 1;m{a=x,b=2} 2;m{a=y} 5"}, []float64{3, 5}},
		"the largest of each kind, added":           {"sum(max by (k) (m)) > 0", []string{"m{k=a,r=1} 1;m{k=a,r=2} 3;m{k=b} 4"}, []float64{7}},
		"matchers":                                  {`sum(m{a="x",b!="2",c=~"p|q"})`, []string{"m{a=x,b=1,c=p} 1;m{a=x,b=2,c=p} 10;m{a=x,b=1,c=pq} 100;m{a=y,b=1,c=q} 1000"}, []float64{1}},
		"an absent metric has no value":             {"max(m) > 0", []string{"n 1"}, nil},
		"or takes the other where there is none":    {"(sum(m) or vector(0)) < 1", []string{"n 1"}, []float64{0}},
		"days until a time":                         {"(min(m) - time()) / 86400 < 14", []string{fmt.Sprintf("m %d", now.Add(48*time.Hour).Unix())}, []float64{2}},
		"a rate":                                    {"rate(m[5m])", []string{"m 0", "m 60", "m 180"}, []float64{1.5}},
		"an increase over a restart":                {"increase(m[5m])", []string{"m 100", "m 110", "m 5", "m 7"}, []float64{17}},
		"older samples do not count":                {"increase(m[2m])", []string{"m 0", "m 100", "m 101", "m 103"}, []float64{3}},
		"one sample has no rate":                    {"rate(m[5m])", []string{"m 1"}, nil},
		"precedence":                                {"vector(1) + 2 * 3 > 6", []string{"m 1"}, []float64{7}},
		"a quantile":                                {"histogram_quantile(0.5, sum by (le) (m))", []string{"m{le=1} 0;m{le=3} 10;m{le=+Inf} 10"}, []float64{2}},
		"a quantile beyond the last bound":          {"histogram_quantile(0.99, sum by (le) (m))", []string{"m{le=1} 1;m{le=3} 2;m{le=+Inf} 100"}, []float64{3}},
		"a quantile without observations":           {"histogram_quantile(0.5, sum by (le) (m))", []string{"m{le=1} 0;m{le=+Inf} 0"}, nil},
		"series with other labels are not compared": {"m > n", []string{"m{a=x} 2;n{a=y} 1"}, nil},
		"series with the same labels are compared":  {"m > n", []string{"m{a=x} 2;n{a=x} 1"}, []float64{2}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			parsed, err := rule.Parse(tc.expr)
			if err != nil {
				t.Fatal(err)
			}
			var got []float64
			for _, series := range parsed.Evaluate(sampled(tc.samples...)) {
				got = append(got, series.Value)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.expr, diff)
			}
		})
	}
}

func TestUnknownExpressionsAreRefused(t *testing.T) {
	for _, text := range []string{
		"", "sum(", "sum()", "avg(m)", "rate(m)", "m[5x]", `m{a}`, `m{a="x}`, `m{a=~"("}`, "m offset 5m", "m >", "1 2", strings.Repeat("(", 1000), "sum by (a (m)",
	} {
		if _, err := rule.Parse(text); err == nil {
			t.Errorf("%.40q is read, want an error", text)
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
			"berth_event_to_decision_seconds_bucket{le=30} 0;berth_event_to_decision_seconds_bucket{le=60} 0;berth_event_to_decision_seconds_bucket{le=+Inf} 0",
			"berth_event_to_decision_seconds_bucket{le=30} 0;berth_event_to_decision_seconds_bucket{le=60} 9;berth_event_to_decision_seconds_bucket{le=+Inf} 9",
		},
		"BerthRemovalsHeld":     {"berth_held_removals 1"},
		"BerthRolloutsBreached": {"berth_rollouts{phase=Breached} 1"},
		"BerthWorksRefused":     {"berth_work_writes_total{result=refused} 0", "berth_work_writes_total{result=refused} 1"},
		"BerthDeliveryHeld":     {"berth_delivery_held 7"},
		"BerthEvictionsHeld":    {"berth_clusters_evictions_held 1"},
		"BerthHubLacks":         {"berth_hub_lacks{kind=field} 1"},
		"BerthRoleUnguarded":    {"berth_role_unguarded{role=r} 1"},
		"BerthCertificateEnds":  {fmt.Sprintf("berth_certificate_end_timestamp_seconds %d", now.Add(24*time.Hour).Unix())},
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
		if want := map[bool]rule.State{true: rule.Firing, false: rule.Pending}[each.For == ""]; began.State != want || began.Since == nil || !began.Since.Equal(now) {
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
