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
func (e *engineState) decideAll(ctx context.Context, seen *memoryGauge, chosen *int) error {
	for i, p := range e.programs {
		result, next := decide(e.snapshot, p)
		e.snapshot, *chosen = next, *chosen+result.Selected
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
func (m measurement) figures() []bench.Figure {
	each := func(took time.Duration, count int) float64 { return micros(took) / float64(count) }
	return []bench.Figure{
		{
			Name: "CPU to decide all", Unit: bench.Seconds, Value: m.decide.Seconds(),
			Detail: fmt.Sprintf("%d placements, %d choices", m.size.Placements, m.selected),
		},
		{Name: "CPU per decision", Unit: bench.Micros, Value: each(m.decide, m.size.Placements), Detail: "deciding, and an edit of the snapshot"},
		{
			Name: "the oracle's time, beside the engine's", Unit: bench.Ratio, Value: float64(m.comparison.oracle) / float64(m.comparison.engine),
			Detail: fmt.Sprintf("%s / %s", millis(m.comparison.oracle), millis(m.comparison.engine)),
		},
		{
			Name: "decisions that the oracle shares", Unit: bench.Requests, Value: float64(m.comparison.placements),
			Detail: "each with the verdict on every cluster",
		},
		{Name: "CPU to read a cluster", Unit: bench.Micros, Value: each(m.read, m.size.Clusters)},
		{Name: "CPU to compile a placement", Unit: bench.Micros, Value: each(m.compile, m.size.Placements), Detail: "and to index it"},
		{
			Name: "CPU to find the placements that a label affects", Unit: bench.Micros, Value: micros(m.labelChange),
			Detail: fmt.Sprintf("%.0f placements", m.affected),
		},
		{Name: "heap, all decided", Unit: bench.MiB, Value: float64(m.heap) / (1 << 20), Detail: "after a collection, objects included"},
		{Name: "peak memory", Unit: bench.MiB, Value: float64(m.peak) / (1 << 20), Detail: "that the process had from the system"},
	}
}

// growth is the exponent of clusters times placements with which the time of all decisions grows: 1 is linear.
func (m measurement) growth(from measurement) bench.Figure {
	return bench.Figure{
		Name: "growth of the time", Unit: bench.Power, Value: math.Log(float64(m.decide)/float64(from.decide)) /
			math.Log(m.size.work()/from.size.work()),
		Detail: fmt.Sprintf("%s / %s of %s", bench.Format(m.decide.Seconds(), bench.Seconds), bench.Format(from.decide.Seconds(), bench.Seconds),
			from.size),
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func millis(d time.Duration) string { return bench.Format(micros(d)/1000, bench.Millis) }
