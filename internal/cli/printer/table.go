package printer

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

// Cell is one cell of a table.
type Cell struct {
	Text  string
	Style TextStyle
}

// StyledCell returns a cell in a style.
func StyledCell(text string, style TextStyle) Cell { return Cell{Text: text, Style: style} }

// Table writes rows in aligned columns. Rows that come after a Flush keep the columns of those before.
type Table struct {
	w      io.Writer
	indent string
	// Screen is where the table is shown; its zero value has no edge and no colours.
	Screen Screen
	// Flexible are the columns that are cut where a row would not fit on the screen. Names are not to be among them: a
	// name that is cut cannot be looked up.
	Flexible []int
	// Optional are the columns that are left out there, the first first.
	Optional []int
	// DropLast are the columns that are left out where even that is not enough.
	DropLast []int

	rows   [][]Cell
	widths []int
}

// NewTable returns a table whose lines start with indent.
func NewTable(w io.Writer, indent string) *Table { return &Table{w: w, indent: indent} }

// Row adds a row of cells that mean nothing in particular.
func (t *Table) Row(words ...string) {
	t.Add(PlainCells(words...))
}

// Add adds a row of cells. Each cell is shown in one line.
func (t *Table) Add(cells []Cell) {
	shown := make([]Cell, 0, len(cells))
	for _, c := range cells {
		shown = append(shown, Cell{escape.Text(c.Text), c.Style})
	}
	t.rows = append(t.rows, shown)
}

// Flush writes the rows since the last Flush.
func (t *Table) Flush() error {
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

func (t *Table) measure() {
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(t.widths) {
				t.widths = append(t.widths, 0)
			}
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(c.Text))
		}
	}
}

// limits returns the widths of the columns on the screen; -1 for a hidden column.
func (t *Table) limits() []int {
	out := slices.Clone(t.widths)
	if t.Screen.Width == 0 {
		return out
	}
	t.shrink(out, preferredWidth)
	t.drop(out, t.Optional)
	t.shrink(out, minWidth)
	if t.excess(out) <= 0 {
		return out
	}
	t.drop(out, t.DropLast)
	for _, i := range t.Flexible { // there may be room now
		if i < len(out) && out[i] >= 0 {
			out[i] = t.widths[i]
		}
	}
	t.shrink(out, minWidth)
	return out
}

// drop leaves out columns, the first first, until the rest fits.
func (t *Table) drop(widths, columns []int) {
	for _, i := range columns {
		if i < len(widths) && t.excess(widths) > 0 {
			widths[i] = -1
		}
	}
}

// shrink takes from the flexible columns, always from the widest, what is too much, and leaves each a minimum.
func (t *Table) shrink(widths []int, least int) {
	for over := t.excess(widths); over > 0; over-- {
		widest := -1
		for _, i := range t.Flexible {
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
func (t *Table) excess(widths []int) int {
	out := len(t.indent) - columnGap - t.Screen.Width
	for _, width := range widths {
		if width >= 0 {
			out += width + columnGap
		}
	}
	return out
}

func (t *Table) write(out *strings.Builder, row []Cell, limits []int) {
	out.WriteString(t.indent)
	blank := 0
	for i, c := range row {
		if limits[i] < 0 {
			continue
		}
		text := Truncate(c.Text, limits[i])
		length := utf8.RuneCountInString(text)
		if t.Screen.Colors {
			text = string(c.Style.Paint(text))
		}
		out.WriteString(strings.Repeat(" ", blank) + text)
		blank = limits[i] - length + columnGap
	}
	out.WriteByte('\n')
}
