package rule

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Figure is one or more numbers that follow from a window. Its expression is the same in PromQL.
type Figure struct {
	expr     string
	metric   string
	evaluate func(*Window) []Series
}

// Evaluate returns the series of the figure at the latest sample. It has no series where its metric has none.
func (f Figure) Evaluate(of *Window) []Series { return f.evaluate(of) }

// Value returns the first number of the figure; 0 without one.
func (f Figure) Value(of *Window) float64 {
	found := f.evaluate(of)
	if len(found) == 0 {
		return 0
	}
	return found[0].Value
}

// Matcher selects the series of a metric by one label.
type Matcher struct {
	label, operator string
	values          []string
}

// Equal selects the series with a value of a label.
func Equal(label, value string) Matcher { return Matcher{label, "=", []string{value}} }

// Unequal selects the series with another value of a label.
func Unequal(label, value string) Matcher { return Matcher{label, "!=", []string{value}} }

// OneOf selects the series with one of several values of a label. The values are no patterns.
func OneOf(label string, values ...string) Matcher { return Matcher{label, "=~", values} }

func (m Matcher) matches(labels map[string]string) bool {
	return slices.Contains(m.values, labels[m.label]) != (m.operator == "!=")
}

// Selector is the series of a metric that match.
type Selector struct {
	name     string
	matchers []Matcher
}

// Metric returns a selector. A histogram has the names with _bucket, _sum and _count.
func Metric(name string, matchers ...Matcher) Selector { return Selector{name, matchers} }

func (s Selector) expr() string {
	var texts []string
	for _, each := range s.matchers {
		texts = append(texts, each.label+each.operator+strconv.Quote(strings.Join(each.values, "|")))
	}
	if len(texts) == 0 {
		return s.name
	}
	return s.name + "{" + strings.Join(texts, ",") + "}"
}

// selected returns the places of the series that match, among those of the latest sample.
func (s Selector) selected(of *Window) iter.Seq2[int, Series] {
	return func(yield func(int, Series) bool) {
		last, _ := of.Last()
		for i, each := range last.Series[s.name] {
			if !slices.ContainsFunc(s.matchers, func(m Matcher) bool { return !m.matches(each.Labels) }) && !yield(i, each) {
				return
			}
		}
	}
}

func (s Selector) latest(of *Window) []Series {
	var out []Series
	for _, each := range s.selected(of) {
		out = append(out, each)
	}
	return out
}

// Latest returns the values at the latest sample.
func (s Selector) Latest() Figure { return Figure{s.expr(), s.name, s.latest} }

// Increase returns by how much each series grew in a time up to the latest sample.
func (s Selector) Increase(over time.Duration) Figure {
	return s.growth("increase", over, func(grown float64, _ time.Duration) float64 { return grown })
}

// Rate returns by how much each series grew for each second.
func (s Selector) Rate(over time.Duration) Figure {
	return s.growth("rate", over, func(grown float64, measured time.Duration) float64 { return grown / measured.Seconds() })
}

func (s Selector) growth(name string, within time.Duration, value func(grown float64, over time.Duration) float64) Figure {
	return Figure{fmt.Sprintf("%s(%s[%dm])", name, s.expr(), int(within.Minutes())), s.name, func(of *Window) []Series {
		var out []Series
		for i, each := range s.selected(of) {
			if grown, over, ok := of.increase(s.name, i, within); ok {
				out = append(out, Series{each.Labels, value(grown, over)})
			}
		}
		return out
	}}
}

// Sum adds the series with the same values of some labels; without labels, all series.
func Sum(of Figure, by ...string) Figure {
	return aggregate("sum", of, by, func(a, b float64) float64 { return a + b })
}

// Max returns the largest of the series with the same values of some labels.
func Max(of Figure, by ...string) Figure {
	return aggregate("max", of, by, func(a, b float64) float64 { return max(a, b) })
}

// Min returns the smallest of all series.
func Min(of Figure) Figure {
	return aggregate("min", of, nil, func(a, b float64) float64 { return min(a, b) })
}

func aggregate(name string, of Figure, by []string, join func(a, b float64) float64) Figure {
	expr := name + "(" + of.expr + ")"
	if len(by) > 0 {
		expr = name + " by (" + strings.Join(by, ", ") + ") (" + of.expr + ")"
	}
	return Figure{expr, of.metric, func(w *Window) []Series {
		var out []Series
		for _, each := range of.evaluate(w) {
			labels := map[string]string{}
			for _, label := range by {
				labels[label] = each.Labels[label]
			}
			at := slices.IndexFunc(out, func(known Series) bool { return sameLabels(known.Labels, labels) })
			if at < 0 {
				out = append(out, Series{labels, each.Value})
				continue
			}
			out[at].Value = join(out[at].Value, each.Value)
		}
		return out
	}}
}

// daysUntil returns how many days an instant is away, which is in seconds.
func daysUntil(of Figure) Figure {
	const day = 24 * time.Hour
	return Figure{fmt.Sprintf("(%s - time()) / %d", of.expr, int(day.Seconds())), of.metric, func(w *Window) []Series {
		last, _ := w.Last()
		out := slices.Clone(of.evaluate(w))
		for i := range out {
			out[i].Value = (out[i].Value - float64(last.At.UnixMilli())/float64(time.Second/time.Millisecond)) / day.Seconds()
		}
		return out
	}}
}

// Quantile returns a quantile of a histogram: of buckets without another label.
func Quantile(wanted float64, buckets Figure) Figure {
	return Figure{fmt.Sprintf("histogram_quantile(%s, %s)", number(wanted), buckets.expr), buckets.metric, func(w *Window) []Series {
		var all []bucket
		for _, each := range buckets.evaluate(w) {
			if bound, err := strconv.ParseFloat(each.Labels[bucketLabel], 64); err == nil {
				all = append(all, bucket{bound, each.Value})
			}
		}
		if result := quantile(wanted, all); !math.IsNaN(result) {
			return []Series{{map[string]string{}, result}}
		}
		return nil
	}}
}

// bucket has the number of observations up to a bound.
type bucket struct{ bound, count float64 }

// quantile returns a quantile by interpolation inside its bucket, as Prometheus does; NaN without observations.
func quantile(wanted float64, buckets []bucket) float64 {
	slices.SortFunc(buckets, func(a, b bucket) int { return cmp.Compare(a.bound, b.bound) })
	last := len(buckets) - 1
	if last < 1 || !math.IsInf(buckets[last].bound, 1) || buckets[last].count == 0 {
		return math.NaN()
	}
	rank := wanted * buckets[last].count
	at := slices.IndexFunc(buckets, func(b bucket) bool { return b.count >= rank })
	if at == last {
		return buckets[last-1].bound
	}
	lower, below := 0.0, 0.0
	if at > 0 {
		lower, below = buckets[at-1].bound, buckets[at-1].count
	}
	inside := buckets[at].count - below
	if inside == 0 {
		return buckets[at].bound
	}
	return lower + (buckets[at].bound-lower)*(rank-below)/inside
}
