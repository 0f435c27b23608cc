package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-project/berth/bench/plot"
)

// Plots returns the pictures of results by file name. What was not measured is not in them; a picture of nothing is not made.
func Plots(of Results) (map[string][]byte, error) {
	out := map[string][]byte{}
	for name, chart := range map[string]plot.Chart{
		"full-decision.svg": fullDecision(of), "one-decision.svg": oneDecision(of), "process-memory.svg": processMemory(of),
		"cold.svg": coldRates(of), "latency.svg": latency(of), "memory.svg": memory(of),
	} {
		if !slices.ContainsFunc(chart.Series, func(s plot.Series) bool { return len(s.Points) > 0 }) {
			continue
		}
		picture, err := chart.SVG()
		if err != nil {
			return nil, fmt.Errorf("drawing %s: %w", name, err)
		}
		out[name] = picture
	}
	return out, nil
}

// size is the clusters and placements of a run, which its name tells.
type size struct {
	run                  string
	clusters, placements int
}

func (s size) work() float64 { return float64(s.clusters) * float64(s.placements) }

// String returns the size as people write it.
func (s size) String() string {
	return plot.Number(float64(s.clusters)) + " × " + plot.Number(float64(s.placements))
}

// sizes returns the runs whose names are a prefix and a size, small ones first.
func (r Results) sizes(prefix string) []size {
	var out []size
	for run := range r {
		s := size{run: run}
		if _, err := fmt.Sscanf(run, prefix+"%dx%d", &s.clusters, &s.placements); err == nil {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b size) int {
		return cmp.Or(cmp.Compare(a.placements, b.placements), cmp.Compare(a.clusters, b.clusters))
	})
	return out
}

// byPlacements returns a line for each number of placements: of has the point of a size.
func byPlacements(sizes []size, of func(size) (x, y float64, ok bool)) []plot.Series {
	var out []plot.Series
	last := 0
	for _, s := range sizes {
		x, y, ok := of(s)
		if !ok {
			continue
		}
		if len(out) == 0 || s.placements != last {
			out = append(out, plot.Series{Name: plot.Number(float64(s.placements)) + " placements"})
			last = s.placements
		}
		end := &out[len(out)-1]
		end.Points = append(end.Points, plot.Point{X: x, Y: y})
	}
	return out
}

func fullDecision(of Results) plot.Chart {
	out := plot.Chart{
		Title:    "Deciding every placement, in process",
		Subtitle: "On one processor, each decision put back before the next. Both scales multiply.",
		X:        plot.Axis{Label: "clusters × placements", Log: true}, Y: plot.Axis{Label: "seconds of CPU", Log: true},
	}
	sizes := of.sizes("process-")
	took := func(s size) (x, y float64, ok bool) {
		y, ok = of.value(s.run, "CPU to decide all")
		return s.work(), y, ok
	}
	out.Series = byPlacements(sizes, took)
	if power, ok := of.value("process-100000x100000", "growth of the time"); ok {
		out.Subtitle = fmt.Sprintf("On one processor. From 10,000 to 100,000 of both, the time grows with the power %.2f of the work.", power)
	}
	from := slices.IndexFunc(sizes, func(s size) bool { return s.clusters == 10_000 && s.placements == 10_000 })
	if from < 0 || len(sizes) < 2 {
		return out
	}
	most := slices.MaxFunc(sizes, func(a, b size) int { return cmp.Compare(a.work(), b.work()) })
	if x, y, ok := took(sizes[from]); ok && most.work() > x {
		out.Series = append(out.Series, plot.Series{
			Name: "linear", Kind: plot.Guide, Points: []plot.Point{{X: x, Y: y}, {X: most.work(), Y: y * most.work() / x}},
		})
	}
	return out
}

func oneDecision(of Results) plot.Chart {
	const figure = "the oracle's time, beside the engine's"
	sizes := of.sizes("process-")
	out := plot.Chart{
		Title: "One decision, engine and oracle", Subtitle: "The same placements on the same fleet, CPU on average. Both scales multiply.",
		X: plot.Axis{Label: "clusters", Log: true}, Y: plot.Axis{Label: "milliseconds of CPU", Log: true},
	}
	sizes = slices.DeleteFunc(sizes, func(s size) bool { return s.placements != 10_000 })
	for _, line := range []struct {
		name string
		of   func(oracle, engine float64) float64
	}{
		{"oracle", func(oracle, _ float64) float64 { return oracle }},
		{"engine", func(_, engine float64) float64 { return engine }},
	} {
		drawn := plot.Series{Name: line.name}
		for _, s := range sizes {
			if oracle, engine, ok := of.pair(s.run, figure); ok && engine > 0 {
				drawn.Points = append(drawn.Points, plot.Point{X: float64(s.clusters), Y: line.of(oracle, engine)})
			}
		}
		out.Series = append(out.Series, drawn)
	}
	return out
}

func processMemory(of Results) plot.Chart {
	return plot.Chart{
		Title:    "What a manager holds, in process",
		Subtitle: "Objects, snapshot, programs, index and decisions, after a collection. Both scales multiply.",
		X:        plot.Axis{Label: "clusters", Log: true}, Y: plot.Axis{Label: "MiB", Log: true},
		Series: byPlacements(of.sizes("process-"), func(s size) (x, y float64, ok bool) {
			y, ok = of.value(s.run, "heap, all decided")
			return float64(s.clusters), y, ok
		}),
	}
}
