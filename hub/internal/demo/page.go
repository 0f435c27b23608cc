package demo

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// width is what every terminal has.
const width = 80

// style is a way to set off a text on a terminal: the number of an ANSI sequence.
type style int

const (
	plain  style = 0
	bold   style = 1
	faint  style = 2
	red    style = 31
	green  style = 32
	yellow style = 33
)

// page prints to a reader. It remembers the first error of the writer.
type page struct {
	out    io.Writer
	colour bool
	err    error
}

// line prints a line as it is.
func (p *page) line(format string, args ...any) {
	if _, err := fmt.Fprintf(p.out, format+"\n", args...); err != nil && p.err == nil {
		p.err = fmt.Errorf("printing: %w", err)
	}
}

// paint sets a text off, on a terminal.
func (p *page) paint(s style, text string) string {
	if !p.colour || s == plain || text == "" {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", s, text)
}

// heading starts a section.
func (p *page) heading(title, rest string) {
	p.line("")
	if rest == "" {
		p.line("%s", p.paint(bold, title))
		return
	}
	p.line("%s  %s", p.paint(bold, title), clipped(rest, width-utf8.RuneCountInString(title)-2))
}

// field prints a label and a text, which is wrapped beside it at spaces. A long label has a line of its own.
func (p *page) field(s style, label, text string) {
	const indent, column = 2, 18
	if utf8.RuneCountInString(label) >= column {
		p.line("%*s%s", indent, "", clipped(label, width-indent))
		label = ""
	}
	lines := wrapped(text, width-indent-column)
	for i, line := range lines {
		if i > 0 {
			label = ""
		}
		p.line("%*s%-*s%s", indent, "", column, label, p.paint(s, line))
	}
}

// table prints rows in columns; the first is the heading. What does not fit the width is cut off.
func (p *page) table(rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for i, row := range rows {
		var line strings.Builder
		for j, cell := range row {
			fmt.Fprintf(&line, "  %-*s", widths[j], cell)
		}
		text := clipped(strings.TrimRight(line.String(), " "), width)
		if i == 0 {
			text = p.paint(faint, text)
		}
		p.line("%s", text)
	}
}

// wrapped breaks a text into lines of a length, at spaces where there are any.
func wrapped(text string, length int) []string {
	var out []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= length:
			line += " " + word
		default:
			out = append(out, clipped(line, length))
			line = word
		}
	}
	return append(out, clipped(line, length))
}

// clipped cuts a text to a length.
func clipped(text string, length int) string {
	const more = "..."
	runes := []rune(text)
	if len(runes) <= length {
		return text
	}
	return string(runes[:max(length-len(more), 0)]) + more
}

// count renders a number of things.
func count(number int, thing string) string {
	if number == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", number, thing)
}
