package rule

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// bucketLabel is the label of the bounds of a histogram.
const bucketLabel = "le"

// Series is a value with its labels.
type Series struct {
	// Labels are shared and read-only.
	Labels map[string]string
	Value  float64
}

// Sample is the series of some metrics at one instant, by the name of the metric.
type Sample struct {
	At     time.Time
	Series map[string][]Series
}

// NewSample returns the series of the wanted metrics. A histogram has the names with _bucket, _sum and _count.
func NewSample(at time.Time, families []*dto.MetricFamily, wanted func(name string) bool) Sample {
	out := Sample{At: at, Series: map[string][]Series{}}
	add := func(name string, labels map[string]string, value float64) {
		if wanted(name) {
			out.Series[name] = append(out.Series[name], Series{labels, value})
		}
	}
	for _, family := range families {
		name := family.GetName()
		if !wanted(name) && !wanted(name+"_bucket") && !wanted(name+"_count") && !wanted(name+"_sum") {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, pair := range metric.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			switch {
			case metric.GetHistogram() != nil:
				addHistogram(add, name, labels, metric.GetHistogram())
			case metric.GetCounter() != nil:
				add(name, labels, metric.GetCounter().GetValue())
			case metric.GetGauge() != nil:
				add(name, labels, metric.GetGauge().GetValue())
			case metric.GetUntyped() != nil:
				add(name, labels, metric.GetUntyped().GetValue())
			}
		}
	}
	return out
}

func addHistogram(add func(string, map[string]string, float64), name string, labels map[string]string, of *dto.Histogram) {
	add(name+"_count", labels, float64(of.GetSampleCount()))
	add(name+"_sum", labels, of.GetSampleSum())
	bucket := func(bound float64, count uint64) {
		with := map[string]string{bucketLabel: strconv.FormatFloat(bound, 'g', -1, 64)}
		maps.Copy(with, labels)
		add(name+"_bucket", with, float64(count))
	}
	for _, each := range of.GetBucket() {
		if !math.IsInf(each.GetUpperBound(), 1) {
			bucket(each.GetUpperBound(), each.GetCumulativeCount())
		}
	}
	bucket(math.Inf(1), of.GetSampleCount())
}

// Window is the latest samples, the oldest first.
type Window struct {
	samples []Sample
	// most is how many samples are kept.
	most int
}

// NewWindow returns a window that keeps a number of samples.
func NewWindow(most int) *Window { return &Window{most: most} }

// Add adds the latest sample, and drops the oldest beyond the bound.
func (w *Window) Add(sample Sample) {
	w.samples = append(w.samples, sample)
	if extra := len(w.samples) - w.most; extra > 0 {
		w.samples = slices.Delete(w.samples, 0, extra)
	}
}

// Last returns the latest sample. Ok is false before the first.
func (w *Window) Last() (sample Sample, ok bool) {
	if len(w.samples) == 0 {
		return Sample{}, false
	}
	return w.samples[len(w.samples)-1], true
}

// increase returns by how much a series of a counter grew in a time up to the latest sample, and over what time that was measured. At is
// its place among the series there. Ok is false without two samples of it. A counter that falls has begun again at 0.
func (w *Window) increase(name string, at int, within time.Duration) (grown float64, over time.Duration, ok bool) {
	last, known := w.Last()
	if !known {
		return 0, 0, false
	}
	labels := last.Series[name][at].Labels
	var before *float64
	var since time.Time
	for _, sample := range w.samples {
		if last.At.Sub(sample.At) > within {
			continue
		}
		value, found := valueOf(sample.Series[name], labels, at)
		if !found {
			continue
		}
		switch {
		case before == nil:
			since = sample.At
		case value < *before:
			grown += value
		default:
			grown += value - *before
		}
		before = &value
	}
	over = last.At.Sub(since)
	return grown, over, before != nil && over > 0
}

// valueOf returns the value of the series with exactly these labels. They mostly have the same place in each sample.
func valueOf(series []Series, labels map[string]string, at int) (float64, bool) {
	if at < len(series) && sameLabels(series[at].Labels, labels) {
		return series[at].Value, true
	}
	for _, each := range series {
		if sameLabels(each.Labels, labels) {
			return each.Value, true
		}
	}
	return 0, false
}

func sameLabels(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for key, value := range a {
		if other, ok := b[key]; !ok || other != value {
			return false
		}
	}
	return true
}

// Span returns how long ago the oldest sample is that a time up to the latest has.
func (w *Window) Span(within time.Duration) time.Duration {
	last, known := w.Last()
	if !known {
		return 0
	}
	for _, sample := range w.samples {
		if over := last.At.Sub(sample.At); over <= within {
			return over
		}
	}
	return 0
}
