package cli

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/berth-project/berth/engine/escape"
)

const (
	// columnGap is between columns. Flexible ones are cut to what is comfortable before others are left out, and to the
	// narrowest only if that does not help.
	columnGap      = 3
	preferredWidth = 26
	minWidth       = 12
)

// cell is one cell of a table.
type cell struct {
	text  string
	style textStyle
}

// table writes rows in aligned columns. Rows that come after a Flush keep the columns of those before.
type table struct {
	w      io.Writer
	indent string
	// screen is where the table is shown; its zero value has no edge and no colours.
	screen screen
	// flexible are the columns that are cut where a row would not fit on the screen. Names are not to be among them: a
	// name that is cut cannot be looked up.
	flexible []int
	// optional are the columns that are left out there, the first first.
	optional []int
	// dropLast are the columns that are left out where even that is not enough.
	dropLast []int

	rows   [][]cell
	widths []int
}

func newTable(w io.Writer, indent string) *table { return &table{w: w, indent: indent} }

// row adds a row of cells that mean nothing in particular.
func (t *table) row(words ...string) {
	t.add(plainCells(words...))
}

// add adds a row of cells, each of which is shown in one line.
func (t *table) add(cells []cell) {
	shown := make([]cell, 0, len(cells))
	for _, c := range cells {
		shown = append(shown, cell{escape.Text(c.text), c.style})
	}
	t.rows = append(t.rows, shown)
}

// Flush writes the rows since the last Flush.
func (t *table) Flush() error {
	t.measure()
	limits := t.limits()
	var out strings.Builder
	for _, row := range t.rows {
		t.write(&out, row, limits)
	}
	t.rows = nil
	_, err := io.WriteString(t.w, out.String())
	return err
}

func (t *table) measure() {
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(t.widths) {
				t.widths = append(t.widths, 0)
			}
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(c.text))
		}
	}
}

// limits returns the widths of the columns on the screen; -1 for a hidden column.
func (t *table) limits() []int {
	out := slices.Clone(t.widths)
	if t.screen.width == 0 {
		return out
	}
	t.shrink(out, preferredWidth)
	t.drop(out, t.optional)
	t.shrink(out, minWidth)
	if t.excess(out) <= 0 {
		return out
	}
	t.drop(out, t.dropLast)
	for _, i := range t.flexible { // there may be room now
		if i < len(out) && out[i] >= 0 {
			out[i] = t.widths[i]
		}
	}
	t.shrink(out, minWidth)
	return out
}

// drop leaves out columns, the first first, until the rest fits.
func (t *table) drop(widths, columns []int) {
	for _, i := range columns {
		if i < len(widths) && t.excess(widths) > 0 {
			widths[i] = -1
		}
	}
}

// shrink takes from the flexible columns, always from the widest, what is too much, and leaves each a minimum.
func (t *table) shrink(widths []int, least int) {
	for over := t.excess(widths); over > 0; over-- {
		widest := -1
		for _, i := range t.flexible {
			if i < len(widths) && widths[i] > least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// excess returns by how many characters the widest row is too long.
func (t *table) excess(widths []int) int {
	out := len(t.indent) - columnGap - t.screen.width
	for _, width := range widths {
		if width >= 0 {
			out += width + columnGap
		}
	}
	return out
}

func (t *table) write(out *strings.Builder, row []cell, limits []int) {
	out.WriteString(t.indent)
	blank := 0
	for i, c := range row {
		if limits[i] < 0 {
			continue
		}
		text := truncate(c.text, limits[i])
		length := utf8.RuneCountInString(text)
		if t.screen.colors {
			text = string(c.style.paint(text))
		}
		out.WriteString(strings.Repeat(" ", blank) + text)
		blank = limits[i] - length + columnGap
	}
	out.WriteByte('\n')
}
