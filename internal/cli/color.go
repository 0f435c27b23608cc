package cli

import (
	"cmp"
	"io"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/berth-project/berth/engine/escape"
)

// defaultWidth is the width of a terminal of unknown size.
const defaultWidth = 80

// textStyle is what a cell of a table means; on a screen with colours it has one.
type textStyle int

const (
	stylePlain textStyle = iota
	styleGood
	styleWarning
	styleBad
	styleFaint
)

// colorReset ends a colour.
const colorReset = "\x1b[0m"

// startSequence returns the sequence that begins the colour of a tone, "" where it has none.
func (t textStyle) startSequence() string {
	codes := map[textStyle]string{styleGood: "32", styleWarning: "33", styleBad: "31", styleFaint: "2"}
	if codes[t] == "" {
		return ""
	}
	return "\x1b[" + codes[t] + "m"
}

// paint returns a text in one line in the colour of its tone.
func (t textStyle) paint(text string) painted {
	text = escape.Text(text)
	begin := t.startSequence()
	if begin == "" || text == "" {
		return painted(text)
	}
	return painted(begin + text + colorReset)
}

// screen describes the output of a command. Its zero value, a file or a pipe, has no colors and no width limit.
type screen struct {
	colors bool
	// width is how many characters a line holds; 0 for any number.
	width int
}

// screenOf describes a writer, from its terminal and the environment.
func screenOf(w io.Writer, getenv func(string) string) screen {
	return newScreen(isTerminal(w), terminalWidth(w), getenv)
}

// newScreen describes a terminal of some width, 0 where it does not tell: then COLUMNS counts, and 80 at last. Files and
// pipes are as wide as it takes, unless COLUMNS is exported.
func newScreen(terminal bool, width int, getenv func(string) string) screen {
	columns, err := strconv.Atoi(getenv("COLUMNS"))
	if err != nil || columns < 0 {
		columns = 0
	}
	if !terminal {
		return screen{width: columns}
	}
	colours := getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return screen{colors: colours, width: cmp.Or(width, columns, defaultWidth)}
}

// fileDescriptor is what a file has and a buffer has not.
type fileDescriptor interface{ Fd() uintptr }

func isTerminal(w io.Writer) bool {
	file, ok := w.(fileDescriptor)
	return ok && term.IsTerminal(int(file.Fd()))
}

func terminalWidth(w io.Writer) int {
	file, ok := w.(fileDescriptor)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// truncate shortens a text to a number of characters.
func truncate(text string, width int) string {
	const more = "..."
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return strings.TrimRight(string(runes[:max(0, width-len(more))]), " ,") + more
}
