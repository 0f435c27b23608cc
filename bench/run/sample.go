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
	var out []bench.Figure
	for _, quantile := range []struct {
		name  string
		share float64
	}{{"p50", 0.50}, {"p99", 0.99}} {
		with, without := s.quantile(quantile.share), other.quantile(quantile.share)
		out = append(out, bench.Figure{
			Name: name + ", " + quantile.name, Unit: bench.Ratio, Value: float64(with) / float64(without),
			Detail: fmt.Sprintf("%s / %s", millis(with), millis(without)),
		})
	}
	return out
}

func millis(d time.Duration) string {
	return bench.Format(float64(d)/float64(time.Millisecond), bench.Millis)
}
