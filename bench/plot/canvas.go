package plot

import (
	"bytes"
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// style is how things look, on light screens and on dark ones. The colours of series are told apart by those who see few
// colours, and each has a mark of its own.
const style = `
svg { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; }
.back { fill: #ffffff; } text { fill: #24292f; } .title { font-size: 17px; font-weight: 600; }
.muted, .tick, .label { fill: #57606a; } .name { font-weight: 600; }
.grid { stroke: #d8dee4; } .axis { stroke: #8c959f; }
.line { stroke-width: 2.25; stroke-linejoin: round; } .guide { stroke-dasharray: 5 5; stroke-width: 1.5; }
.s0 { stroke: #0b62c4; fill: #0b62c4; } .s1 { stroke: #c2410c; fill: #c2410c; }
.s2 { stroke: #0f7a5a; fill: #0f7a5a; } .s3 { stroke: #7c4dba; fill: #7c4dba; }
.n0 { fill: #0b62c4; } .n1 { fill: #c2410c; } .n2 { fill: #0f7a5a; } .n3 { fill: #7c4dba; }
.line { fill: none; }
@media (prefers-color-scheme: dark) {
.back { fill: #0d1117; } text { fill: #e6edf3; } .muted, .tick, .label { fill: #9198a1; }
.grid { stroke: #2b323b; } .axis { stroke: #656c76; }
.s0 { stroke: #58a6ff; fill: #58a6ff; } .s1 { stroke: #f0883e; fill: #f0883e; }
.s2 { stroke: #3fb990; fill: #3fb990; } .s3 { stroke: #bc8cff; fill: #bc8cff; }
.n0 { fill: #58a6ff; } .n1 { fill: #f0883e; } .n2 { fill: #3fb990; } .n3 { fill: #bc8cff; }
.line { fill: none; }
}
`

// styles is how many series have a look of their own.
const styles = 4

// canvas is a picture in the making.
type canvas struct{ bytes.Buffer }

func (c *canvas) open(title string) {
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`+"\n",
		width, height, width, height, html.EscapeString(title))
	fmt.Fprintf(c, "<style>%s</style>\n", style)
	fmt.Fprintf(c, `<rect class="back" width="%d" height="%d" rx="6"/>`+"\n", width, height)
}

func (c *canvas) close() { c.WriteString("</svg>\n") }

func (c *canvas) text(x, y float64, class, anchor, text string) {
	fmt.Fprintf(c, `<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor, html.EscapeString(text))
}

func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(c, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`+"\n", x1, y1, x2, y2, class)
}

func (c *canvas) rect(x, y, w, h float64, number int) {
	fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="1.5" class="s%d"/>`+"\n", x, y, w, h, number%styles)
}

func (c *canvas) path(points [][2]float64, class string) {
	var d strings.Builder
	for i, point := range points {
		fmt.Fprintf(&d, "%c%.1f %.1f ", "ML"[min(i, 1)], point[0], point[1])
	}
	fmt.Fprintf(c, `<path d="%s" class="%s"/>`+"\n", strings.TrimSpace(d.String()), class)
}

// mark draws the mark of a series: a circle, a square, a triangle or a diamond.
func (c *canvas) mark(x, y float64, number int) {
	const r = 4.5
	corners := [][2]float64{}
	switch number % styles {
	case 0:
		fmt.Fprintf(c, `<circle cx="%.1f" cy="%.1f" r="%.1f" class="s0"/>`+"\n", x, y, r)
		return
	case 1:
		corners = append(corners, [2]float64{x - r, y - r}, [2]float64{x + r, y - r}, [2]float64{x + r, y + r}, [2]float64{x - r, y + r})
	case 2:
		corners = append(corners, [2]float64{x, y - r - 1}, [2]float64{x + r + 1, y + r}, [2]float64{x - r - 1, y + r})
	default:
		corners = append(corners, [2]float64{x, y - r - 1}, [2]float64{x + r + 1, y}, [2]float64{x, y + r + 1}, [2]float64{x - r - 1, y})
	}
	c.path(append(corners, corners[0]), fmt.Sprintf("s%d", number%styles))
}

// wide is about how many pixels a text of the usual size takes.
func wide(text string) float64 { return 6.9 * float64(utf8.RuneCountInString(text)) }
