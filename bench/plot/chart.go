package plot

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Chart is what is drawn.
type Chart struct {
	Title, Subtitle string
	X, Y            Axis
	Series          []Series
}

// Axis says what a direction means.
type Axis struct {
	Label string
	// Log says that each step multiplies.
	Log bool
	// Names are what stands at 1, 2 and so on, on an axis of things that are no numbers.
	Names []string
}

// Kind is how a series is drawn.
type Kind int

// The kinds.
const (
	// Line joins its points. The name stands beside the last.
	Line Kind = iota
	// Guide is a line without points, to compare others with.
	Guide
	// Bar is a bar from the bottom, beside those of other series. The names stand above the chart.
	Bar
	// Dot is a mark alone, beside those of other series.
	Dot
)

// Series is what is drawn of one thing.
type Series struct {
	Name   string
	Kind   Kind
	Points []Point
}

// Point is one value.
type Point struct{ X, Y float64 }

var errEmpty = errors.New("nothing to draw")

// The place of the plot in the picture, in pixels.
const (
	width, height = 760, 440
	left, right   = 78, 190
	top, bottom   = 92, 62
)

// SVG returns the picture.
func (c Chart) SVG() ([]byte, error) {
	x, y, err := c.scales()
	if err != nil {
		return nil, fmt.Errorf("drawing %q: %w", c.Title, err)
	}
	out := &canvas{}
	out.open(c.Title)
	out.text(left, 30, "title", "start", c.Title)
	out.text(left, 50, "muted", "start", c.Subtitle)
	c.axes(out, x, y)
	c.legend(out)
	var ends []label
	beside := c.beside()
	for i, series := range c.Series {
		ends = append(ends, series.draw(out, pen{x: x, y: y, number: i, shift: beside[i]})...)
	}
	for _, end := range apart(ends) {
		out.text(end.x, end.y+4, end.class, "start", end.text)
	}
	out.close()
	return bytes.Clone(out.Bytes()), nil
}

// scales returns how numbers become pixels.
func (c Chart) scales() (x, y scale, err error) {
	var xs, ys []float64
	bars := false
	for _, series := range c.Series {
		bars = bars || series.Kind == Bar
		for _, point := range series.Points {
			xs, ys = append(xs, point.X), append(ys, point.Y)
		}
	}
	if len(xs) == 0 {
		return scale{}, scale{}, errEmpty
	}
	for _, value := range slices.Concat(xs, ys) {
		if math.IsNaN(value) || math.IsInf(value, 0) || (c.X.Log || c.Y.Log) && value <= 0 {
			return scale{}, scale{}, fmt.Errorf("%w: %v is no value for it", errEmpty, value)
		}
	}
	if bars || !c.Y.Log {
		ys = append(ys, 0)
	}
	inner := width - right
	if !slices.ContainsFunc(c.Series, func(s Series) bool { return s.Kind <= Guide }) {
		inner = width - 24
	}
	x = newScale(c.X, xs, left, float64(inner))
	return x, newScale(c.Y, ys, height-bottom, top), nil
}

// axes draws what is behind the data.
func (c Chart) axes(out *canvas, x, y scale) {
	for _, tick := range y.ticks() {
		at := y.at(tick.value)
		out.line(x.from, at, x.to, at, "grid")
		out.text(x.from-8, at+4, "tick", "end", tick.text)
	}
	for _, tick := range x.ticks() {
		at := x.at(tick.value)
		out.line(at, y.from, at, y.from+5, "axis")
		out.text(at, y.from+20, "tick", "middle", tick.text)
	}
	out.line(x.from, y.from, x.to, y.from, "axis")
	out.text((x.from+x.to)/2, height-16, "label", "middle", c.X.Label)
	out.text(left, top-12, "label", "start", c.Y.Label)
}

// legend names what is not a line, in the order in which it stands.
func (c Chart) legend(out *canvas) {
	const size = 10
	x := float64(width - 24)
	for i, series := range slices.Backward(c.Series) {
		if series.Kind <= Guide {
			continue
		}
		x -= wide(series.Name)
		out.text(x, top-12, "tick", "start", series.Name)
		x -= size + 6
		if series.Kind == Bar {
			out.rect(x, top-12-size, size, size, i)
		} else {
			out.mark(x+size/2, top-12-size/2+1, i)
		}
		x -= 14
	}
}

// beside returns how far each series stands from the middle of a name, as a share of the way between names.
func (c Chart) beside() []float64 {
	out := make([]float64, len(c.Series))
	many := 0
	for _, series := range c.Series {
		if series.Kind > Guide {
			many++
		}
	}
	turn := 0
	for i, series := range c.Series {
		if series.Kind > Guide {
			out[i] = (float64(turn) - float64(many-1)/2) * share / float64(many)
			turn++
		}
	}
	return out
}

// share is how much of the way between two names is drawn on.
const share = 0.7

// label is the name of a line where it ends.
type label struct {
	x, y        float64
	class, text string
}

// apart moves labels down until none lies on another.
func apart(in []label) []label {
	const least = 16
	slices.SortFunc(in, func(a, b label) int { return cmp.Compare(a.y, b.y) })
	for i := 1; i < len(in); i++ {
		in[i].y = max(in[i].y, in[i-1].y+least)
	}
	return in
}
