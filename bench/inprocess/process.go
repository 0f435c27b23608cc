package inprocess

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/berth-project/berth/bench"
)

// sampleEvery is after how many decisions the memory and the context are checked.
const sampleEvery = 50

// measurement contains the results of one size.
type measurement struct {
	size                  Size
	read, compile, decide time.Duration
	selected              int
	heap, peak            uint64
	labelChange           time.Duration
	affected              float64
	comparison            comparison
}

// Measure decides every placement of a size and returns the figures. For the largest size it also returns the growth of the
// time, from a yardstick that it measures immediately before.
func Measure(ctx context.Context, size Size, progress io.Writer) ([]bench.Figure, error) {
	var yardstick measurement
	if size == Largest() {
		var err error
		if yardstick, err = run(ctx, Yardstick(), progress); err != nil {
			return nil, err
		}
	}
	measured, err := run(ctx, size, progress)
	if err != nil {
		return nil, err
	}
	out := measured.figures()
	if size == Largest() {
		out = append(out, measured.growth(yardstick))
	}
	return out, nil
}

// run measures one size.
func run(ctx context.Context, size Size, progress io.Writer) (measurement, error) {
	fmt.Fprintf(progress, "process-%s: drawing the fleet\n", size)
	out, seen := measurement{size: size}, newMemoryGauge()
	m, err := newEngineState(size)
	if err != nil {
		return measurement{}, err
	}
	if out.read, err = measureCPU(func() error { m.buildSnapshot(); return nil }); err != nil {
		return measurement{}, err
	}
	if out.compile, err = measureCPU(m.compilePrograms); err != nil {
		return measurement{}, err
	}
	seen.sample()
	fmt.Fprintf(progress, "process-%s: deciding\n", size)
	if out.decide, err = measureCPU(func() error { return m.decideAll(ctx, seen, &out.selected) }); err != nil {
		return measurement{}, err
	}
	out.heap, out.peak = heapInUse(), seen.peak
	if out.labelChange, out.affected, err = m.measureLabelChanges(); err != nil {
		return measurement{}, err
	}
	fmt.Fprintf(progress, "process-%s: comparing with the oracle\n", size)
	out.comparison, err = m.compareWithOracle()
	return out, err
}

// decideAll decides every placement, and counts the selected clusters.
func (m *engineState) decideAll(ctx context.Context, seen *memoryGauge, chosen *int) error {
	for i, p := range m.programs {
		result, next := decide(m.snapshot, p)
		m.snapshot, *chosen = next, *chosen+result.Selected
		if i%sampleEvery == 0 {
			seen.sample()
			if err := context.Cause(ctx); err != nil {
				return err
			}
		}
	}
	seen.sample()
	return nil
}

// figures returns the figures. Their names omit the size, because the name of the run contains it.
func (c measurement) figures() []bench.Figure {
	each := func(took time.Duration, count int) float64 { return micros(took) / float64(count) }
	return []bench.Figure{
		{Name: "CPU to decide all", Unit: bench.Seconds, Value: c.decide.Seconds(), Detail: fmt.Sprintf("%d placements, %d choices", c.size.Placements, c.selected)},
		{Name: "CPU per decision", Unit: bench.Micros, Value: each(c.decide, c.size.Placements), Detail: "deciding, and an edit of the snapshot"},
		{Name: "the oracle's time, beside the engine's", Unit: bench.Ratio, Value: float64(c.comparison.oracle) / float64(c.comparison.engine), Detail: fmt.Sprintf("%s / %s", millis(c.comparison.oracle), millis(c.comparison.engine))},
		{Name: "decisions that the oracle shares", Unit: bench.Requests, Value: float64(c.comparison.placements), Detail: "each with the verdict on every cluster"},
		{Name: "CPU to read a cluster", Unit: bench.Micros, Value: each(c.read, c.size.Clusters)},
		{Name: "CPU to compile a placement", Unit: bench.Micros, Value: each(c.compile, c.size.Placements), Detail: "and to index it"},
		{Name: "CPU to find the placements that a label affects", Unit: bench.Micros, Value: micros(c.labelChange), Detail: fmt.Sprintf("%.0f placements", c.affected)},
		{Name: "heap, all decided", Unit: bench.MiB, Value: float64(c.heap) / (1 << 20), Detail: "after a collection, objects included"},
		{Name: "peak memory", Unit: bench.MiB, Value: float64(c.peak) / (1 << 20), Detail: "that the process had from the system"},
	}
}

// growth is the exponent of clusters times placements with which the time of all decisions grows: 1 is linear.
func (c measurement) growth(from measurement) bench.Figure {
	return bench.Figure{
		Name: "growth of the time", Unit: bench.Power, Value: math.Log(float64(c.decide)/float64(from.decide)) / math.Log(c.size.work()/from.size.work()),
		Detail: fmt.Sprintf("%s / %s of %s", bench.Format(c.decide.Seconds(), bench.Seconds), bench.Format(from.decide.Seconds(), bench.Seconds), from.size),
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func millis(d time.Duration) string { return bench.Format(micros(d)/1000, bench.Millis) }
