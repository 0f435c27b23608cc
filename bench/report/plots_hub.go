package report

import "github.com/berth-project/berth/bench/plot"

// column is a series over the sizes of hubs.
type column struct {
	name string
	kind plot.Kind
	of   func(run string) (float64, bool)
}

// overHubs returns series over the sizes of hubs that have one of the values at least, and the axis with the sizes.
func overHubs(of Results, columns ...column) (plot.Axis, []plot.Series) {
	axis := plot.Axis{Label: "clusters × placements"}
	out := make([]plot.Series, len(columns))
	for i, column := range columns {
		out[i] = plot.Series{Name: column.name, Kind: column.kind}
	}
	for _, s := range of.sizes("") {
		known := false
		for i, column := range columns {
			value, ok := column.of(s.run)
			if !ok {
				continue
			}
			if !known {
				known, axis.Names = true, append(axis.Names, s.String())
			}
			out[i].Points = append(out[i].Points, plot.Point{X: float64(len(axis.Names)), Y: value})
		}
	}
	return axis, out
}

// first and second are the sides of a ratio.
func (r Results) first(figure string) func(run string) (float64, bool) {
	return func(run string) (float64, bool) {
		value, _, ok := r.pair(run, figure)
		return value, ok
	}
}

func (r Results) second(figure string) func(run string) (float64, bool) {
	return func(run string) (float64, bool) {
		_, value, ok := r.pair(run, figure)
		return value, ok
	}
}

func (r Results) itself(figure string) func(run string) (float64, bool) {
	return func(run string) (float64, bool) { return r.value(run, figure) }
}

func coldRates(of Results) plot.Chart {
	const figure = "cold: objects per second, beside the write limit"
	axis, series := overHubs(of, column{"a manager decides", plot.Bar, of.first(figure)}, column{"write limit", plot.Bar, of.second(figure)})
	return plot.Chart{
		Title: "Many placements at once", Subtitle: "Beside each, the write limit: 32 plain clients store the same objects on a hub without a manager.",
		X: axis, Y: plot.Axis{Label: "objects stored in a second"}, Series: series,
	}
}

func latency(of Results) plot.Chart {
	const p50, p99 = "idle: decided, beside the same writes, p50", "idle: decided, beside the same writes, p99"
	axis, series := overHubs(of,
		column{"decided, p50", plot.Dot, of.first(p50)}, column{"the same writes, p50", plot.Dot, of.second(p50)},
		column{"decided, p99", plot.Dot, of.first(p99)}, column{"the same writes, p99", plot.Dot, of.second(p99)},
	)
	return plot.Chart{
		Title: "One placement on an idle hub", Subtitle: "From stored to decided; beside it the same writes in sequence by a plain client.",
		X: axis, Y: plot.Axis{Label: "milliseconds", Log: true}, Series: series,
	}
}

func memory(of Results) plot.Chart {
	axis, series := overHubs(of,
		column{"settled", plot.Bar, of.itself("memory: resident, settled")}, column{"peak", plot.Bar, of.itself("memory: peak")},
	)
	return plot.Chart{
		Title: "Memory of the manager", Subtitle: "Resident, with every placement decided, and the most since it started.",
		X: axis, Y: plot.Axis{Label: "MiB"}, Series: series,
	}
}
