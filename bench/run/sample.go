package run

import (
	"fmt"
	"slices"
	"time"

	"github.com/berth-project/berth/bench"
)

// sample contains the durations of many requests.
type sample []time.Duration

// quantile returns the smallest duration that a share of the sample does not exceed.
func (s sample) quantile(share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

// time adds how long a step takes.
func (s *sample) time(step func() error) error {
	began := time.Now()
	if err := step(); err != nil {
		return err
	}
	*s = append(*s, time.Since(began))
	return nil
}

// ratios returns the ratios to another sample at the median and at the 99th percentile.
func (s sample) ratios(name string, other sample) []bench.Figure {
	return s.ratiosAt(name, other, 50, 99)
}

// ratiosAt returns the ratios to another sample at some percentiles.
func (s sample) ratiosAt(name string, other sample, percentiles ...int) []bench.Figure {
	var out []bench.Figure
	for _, percentile := range percentiles {
		with, without := s.quantile(float64(percentile)/100), other.quantile(float64(percentile)/100)
		out = append(out, bench.Figure{
			Name: fmt.Sprintf("%s, p%d", name, percentile), Unit: bench.Ratio, Value: float64(with) / float64(without),
			Detail: fmt.Sprintf("%s / %s", millis(with), millis(without)),
		})
	}
	return out
}

func millis(d time.Duration) string {
	return bench.Format(float64(d)/float64(time.Millisecond), bench.Millis)
}
