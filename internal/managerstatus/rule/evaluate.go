package rule

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Expression is an expression that was read. It is safe for concurrent use.
type Expression struct{ root node }

// Evaluate returns the series that the expression has at the latest sample. A comparison leaves out the series that do not meet it.
func (e *Expression) Evaluate(of *Window) []Series { return e.root.evaluate(of).series }

// Metrics returns the names of the metrics that the expression reads.
func (e *Expression) Metrics() []string {
	var out []string
	e.root.metrics(&out)
	slices.Sort(out)
	return slices.Compact(out)
}

// value is what a part of an expression has: series, or a number, which is one series without labels.
type value struct {
	series []Series
	scalar bool
}

func number(of float64) value { return value{[]Series{{Value: of}}, true} }

type node interface {
	evaluate(of *Window) value
	metrics(to *[]string)
}

// constant is a number.
type constant float64

func (c constant) evaluate(*Window) value { return number(float64(c)) }
func (constant) metrics(*[]string)        {}

// selector is the series of a metric, over a time where it has one.
type selector struct {
	name     string
	matchers []matcher
	within   time.Duration
}

type matcher struct {
	label, value string
	negated      bool
	pattern      *regexp.Regexp
}

func (m matcher) matches(labels map[string]string) bool {
	has := labels[m.label] == m.value
	if m.pattern != nil {
		has = m.pattern.MatchString(labels[m.label])
	}
	return has != m.negated
}

func (s selector) metrics(to *[]string) { *to = append(*to, s.name) }

func (s selector) evaluate(of *Window) value {
	var out value
	last, _ := of.Last()
	for _, each := range last.Series[s.name] {
		if !slices.ContainsFunc(s.matchers, func(m matcher) bool { return !m.matches(each.Labels) }) {
			out.series = append(out.series, each)
		}
	}
	return out
}

// growth returns by how much each series grew, in all or for each second.
func (s selector) growth(of *Window, perSecond bool) value {
	var out value
	for _, each := range s.evaluate(of).series {
		grown, over, ok := of.increase(s.name, each.Labels, s.within)
		if !ok {
			continue
		}
		if perSecond {
			grown /= over.Seconds()
		}
		out.series = append(out.series, Series{each.Labels, grown})
	}
	return out
}

// operation joins two parts by an operator.
type operation struct {
	operator    string
	left, right node
}

func (o operation) metrics(to *[]string) {
	o.left.metrics(to)
	o.right.metrics(to)
}

func (o operation) evaluate(of *Window) value {
	left, right := o.left.evaluate(of), o.right.evaluate(of)
	if o.operator == "or" {
		if len(left.series) > 0 {
			return left
		}
		return right
	}
	var out value
	out.scalar = left.scalar && right.scalar
	for _, a := range left.series {
		for _, b := range right.series {
			if !left.scalar && !right.scalar && !sameLabels(a.Labels, b.Labels) {
				continue
			}
			labels := a.Labels
			if left.scalar {
				labels = b.Labels
			}
			if result, kept := o.apply(a.Value, b.Value); kept {
				out.series = append(out.series, Series{labels, result})
			}
		}
	}
	return out
}

// apply computes an operation on two numbers. A comparison keeps the left number where it holds.
func (o operation) apply(a, b float64) (result float64, kept bool) {
	switch o.operator {
	case "+":
		return a + b, true
	case "-":
		return a - b, true
	case "*":
		return a * b, true
	case "/":
		return a / b, true
	case "<":
		return a, a < b
	case ">":
		return a, a > b
	default:
		return a, a == b
	}
}

// call is a function or an aggregation.
type call struct {
	name string
	by   []string
	args []node
}

// check reports a call that is not evaluated here.
func (c call) check() error {
	wanted, known := map[string]int{
		"sum": 1, "max": 1, "min": 1, "rate": 1, "increase": 1, "vector": 1, "time": 0, "histogram_quantile": 2,
	}[c.name]
	if !known || len(c.args) != wanted {
		return fmt.Errorf("the call of %s: %w", c.name, errUnsupported)
	}
	if c.name == "rate" || c.name == "increase" {
		if over, ok := c.args[0].(selector); !ok || over.within <= 0 {
			return fmt.Errorf("the call of %s has no time: %w", c.name, errUnsupported)
		}
	}
	return nil
}

func (c call) metrics(to *[]string) {
	for _, arg := range c.args {
		arg.metrics(to)
	}
}

func (c call) evaluate(of *Window) value {
	switch c.name {
	case "time":
		last, _ := of.Last()
		return number(float64(last.At.UnixMilli()) / float64(time.Second/time.Millisecond))
	case "vector":
		return value{series: c.args[0].evaluate(of).series}
	case "rate", "increase":
		over, _ := c.args[0].(selector) // check has seen it
		return over.growth(of, c.name == "rate")
	case "histogram_quantile":
		return quantiles(c.args[0].evaluate(of), c.args[1].evaluate(of))
	default:
		return c.aggregate(c.args[0].evaluate(of))
	}
}

// aggregate joins the series with the same values of the labels by which the call groups.
func (c call) aggregate(in value) value {
	var out value
	at := map[string]int{}
	for _, each := range in.series {
		labels := map[string]string{}
		for _, label := range c.by {
			labels[label] = each.Labels[label]
		}
		key := keyOf(labels)
		i, known := at[key]
		if !known {
			at[key] = len(out.series)
			out.series = append(out.series, Series{labels, each.Value})
			continue
		}
		before := &out.series[i].Value
		switch c.name {
		case "sum":
			*before += each.Value
		case "max":
			*before = max(*before, each.Value)
		default:
			*before = min(*before, each.Value)
		}
	}
	return out
}

func keyOf(labels map[string]string) string {
	var out []string
	for key, value := range labels {
		out = append(out, key+"\x00"+value)
	}
	slices.Sort(out)
	return strings.Join(out, "\x00")
}

// quantiles returns the quantile of each histogram: the buckets with the same other labels.
func quantiles(wanted, buckets value) value {
	var out value
	if len(wanted.series) != 1 {
		return out
	}
	type histogram struct {
		labels  map[string]string
		buckets []bucket
	}
	var all []*histogram
	at := map[string]*histogram{}
	for _, each := range buckets.series {
		bound, err := strconv.ParseFloat(each.Labels[bucketLabel], 64)
		if err != nil {
			continue
		}
		labels := map[string]string{}
		for key, value := range each.Labels {
			if key != bucketLabel {
				labels[key] = value
			}
		}
		found := at[keyOf(labels)]
		if found == nil {
			found = &histogram{labels: labels}
			at[keyOf(labels)], all = found, append(all, found)
		}
		found.buckets = append(found.buckets, bucket{bound, each.Value})
	}
	for _, each := range all {
		if result := quantile(wanted.series[0].Value, each.buckets); !math.IsNaN(result) {
			out.series = append(out.series, Series{each.labels, result})
		}
	}
	return out
}

// bucket has the number of observations up to a bound.
type bucket struct{ bound, count float64 }

// quantile returns a quantile by interpolation inside its bucket, as Prometheus does; NaN without observations.
func quantile(wanted float64, buckets []bucket) float64 {
	slices.SortFunc(buckets, func(a, b bucket) int {
		switch {
		case a.bound < b.bound:
			return -1
		case a.bound > b.bound:
			return 1
		default:
			return 0
		}
	})
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
