package process

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/berth-project/berth/bench"
)

// lookEvery is after how many decisions the memory is looked at, and whether to go on.
const lookEvery = 50

// course is what came out of one size.
type course struct {
	size                  Size
	read, compile, decide time.Duration
	chosen                int
	heap, peak            uint64
	flip                  time.Duration
	touched               float64
	beside                beside
}

// Measure decides every placement of a size and returns what that took. Of the largest size it also says how the time
// grows: the yardstick is measured first, moments before.
func Measure(ctx context.Context, size Size, progress io.Writer) ([]bench.Figure, error) {
	var yardstick course
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
func run(ctx context.Context, size Size, progress io.Writer) (course, error) {
	fmt.Fprintf(progress, "process-%s: drawing the fleet\n", size)
	out, seen := course{size: size}, newGauge()
	m, err := newManager(size)
	if err != nil {
		return course{}, err
	}
	if out.read, err = spent(func() error { m.read(); return nil }); err != nil {
		return course{}, err
	}
	if out.compile, err = spent(m.compile); err != nil {
		return course{}, err
	}
	seen.look()
	fmt.Fprintf(progress, "process-%s: deciding\n", size)
	if out.decide, err = spent(func() error { return m.decideAll(ctx, seen, &out.chosen) }); err != nil {
		return course{}, err
	}
	out.heap, out.peak = heap(), seen.most
	if out.flip, out.touched, err = m.flip(); err != nil {
		return course{}, err
	}
	fmt.Fprintf(progress, "process-%s: asking the oracle\n", size)
	out.beside, err = m.askOracle()
	return out, err
}

// decideAll decides every placement, and counts what is chosen.
func (m *manager) decideAll(ctx context.Context, seen *gauge, chosen *int) error {
	for i, p := range m.programs {
		result, next := decide(m.snapshot, p)
		m.snapshot, *chosen = next, *chosen+result.Selected
		if i%lookEvery == 0 {
			seen.look()
			if err := context.Cause(ctx); err != nil {
				return err
			}
		}
	}
	seen.look()
	return nil
}

// figures says what came out, the names without the size: the run's name has it.
func (c course) figures() []bench.Figure {
	each := func(took time.Duration, count int) float64 { return micros(took) / float64(count) }
	return []bench.Figure{
		{Name: "CPU to decide all", Unit: bench.Seconds, Value: c.decide.Seconds(), From: fmt.Sprintf("%d placements, %d choices", c.size.Placements, c.chosen)},
		{Name: "CPU per decision", Unit: bench.Micros, Value: each(c.decide, c.size.Placements), From: "deciding, and an edit of the snapshot"},
		{Name: "the oracle's time, beside the engine's", Unit: bench.Ratio, Value: float64(c.beside.oracle) / float64(c.beside.engine), From: fmt.Sprintf("%s / %s", millis(c.beside.oracle), millis(c.beside.engine))},
		{Name: "decisions that the oracle shares", Unit: bench.Requests, Value: float64(c.beside.placements), From: "each with the verdict on every cluster"},
		{Name: "CPU to read a cluster", Unit: bench.Micros, Value: each(c.read, c.size.Clusters)},
		{Name: "CPU to compile a placement", Unit: bench.Micros, Value: each(c.compile, c.size.Placements), From: "and to index it"},
		{Name: "CPU to find whom a label touches", Unit: bench.Micros, Value: micros(c.flip), From: fmt.Sprintf("%.0f placements", c.touched)},
		{Name: "heap, all decided", Unit: bench.MiB, Value: float64(c.heap) / (1 << 20), From: "after a collection, objects included"},
		{Name: "peak memory", Unit: bench.MiB, Value: float64(c.peak) / (1 << 20), From: "that the process had from the system"},
	}
}

// growth is the power of clusters times placements with which the time to decide all grows: 1 is linear.
func (c course) growth(from course) bench.Figure {
	return bench.Figure{
		Name: "growth of the time", Unit: bench.Power, Value: math.Log(float64(c.decide)/float64(from.decide)) / math.Log(c.size.work()/from.size.work()),
		From: fmt.Sprintf("%s / %s of %s", bench.Format(c.decide.Seconds(), bench.Seconds), bench.Format(from.decide.Seconds(), bench.Seconds), from.size),
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func millis(d time.Duration) string { return bench.Format(micros(d)/1000, bench.Millis) }
