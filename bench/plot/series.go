package plot

import "fmt"

// pen is what a series is drawn with.
type pen struct {
	x, y   scale
	number int
	// shift is how far from a name its bar or mark stands, as a share of the way to the next name.
	shift float64
}

// widest is the most pixels that a bar takes.
const widest = 64

// draw draws the series, and returns the names to be written once all are drawn.
func (s Series) draw(out *canvas, p pen) []label {
	switch s.Kind {
	case Line, Guide:
		return s.join(out, p)
	case Bar:
		w := min(widest, p.x.step()*share/3)
		for _, point := range s.Points {
			at := p.x.at(point.X) + p.shift*p.x.step()
			out.rect(at-w/2, p.y.at(point.Y), w, p.y.from-p.y.at(point.Y), p.number)
			out.text(at, p.y.at(point.Y)-6, "tick", "middle", Number(point.Y))
		}
	case Dot:
		for _, point := range s.Points {
			at := p.x.at(point.X) + p.shift*p.x.step()
			out.mark(at, p.y.at(point.Y), p.number)
			out.text(at, p.y.at(point.Y)-10, "tick", "middle", Number(point.Y))
		}
	}
	return nil
}

// join draws a line.
func (s Series) join(out *canvas, p pen) []label {
	pixels := make([][2]float64, 0, len(s.Points))
	for _, point := range s.Points {
		pixels = append(pixels, [2]float64{p.x.at(point.X), p.y.at(point.Y)})
	}
	if len(pixels) == 0 {
		return nil
	}
	class := fmt.Sprintf("line s%d", p.number%styles)
	if s.Kind == Guide {
		class = "line guide axis"
	}
	out.path(pixels, class)
	end := pixels[len(pixels)-1]
	if s.Kind == Guide {
		return []label{{end[0] + 12, end[1], "muted", s.Name}}
	}
	for _, pixel := range pixels {
		out.mark(pixel[0], pixel[1], p.number)
	}
	return []label{{end[0] + 12, end[1], fmt.Sprintf("name n%d", p.number%styles), s.Name}}
}
