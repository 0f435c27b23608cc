package printer

import (
	"cmp"
	"io"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/berth-project/berth/engine/escape"
)

// DefaultWidth is the width of a terminal of unknown size.
const DefaultWidth = 80

// TextStyle is what a cell of a table means; on a screen with colours it has one.
type TextStyle int

// The styles, from none to a hint of little weight.
const (
	StylePlain TextStyle = iota
	StyleGood
	StyleWarning
	StyleBad
	StyleFaint
)

// colorReset ends a colour.
const colorReset = "\x1b[0m"

// startSequence returns the sequence that begins the colour of a tone, "" where it has none.
func (t TextStyle) startSequence() string {
	codes := map[TextStyle]string{StyleGood: "32", StyleWarning: "33", StyleBad: "31", StyleFaint: "2"}
	if codes[t] == "" {
		return ""
	}
	return "\x1b[" + codes[t] + "m"
}

// Paint returns a text in one line in the colour of its tone.
func (t TextStyle) Paint(text string) Painted {
	text = escape.Text(text)
	begin := t.startSequence()
	if begin == "" || text == "" {
		return Painted(text)
	}
	return Painted(begin + text + colorReset)
}

// Screen describes the output of a command. Its zero value, a file or a pipe, has no colors and no width limit.
type Screen struct {
	Colors bool
	// Width is how many characters a line holds; 0 for any number.
	Width int
}

// ScreenOf describes a writer, from its terminal and the environment.
func ScreenOf(w io.Writer, getenv func(string) string) Screen {
	return newScreen(IsTerminal(w), terminalWidth(w), getenv)
}

// newScreen describes a terminal of a width. Width 0 is unknown: COLUMNS counts then, and 80 without it. Files and pipes have
// no limit unless COLUMNS is exported.
func newScreen(terminal bool, width int, getenv func(string) string) Screen {
	columns, err := strconv.Atoi(getenv("COLUMNS"))
	if err != nil || columns < 0 {
		columns = 0
	}
	if !terminal {
		return Screen{Width: columns}
	}
	colours := getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return Screen{Colors: colours, Width: cmp.Or(width, columns, DefaultWidth)}
}

// fileDescriptor is what a file has and a buffer has not.
type fileDescriptor interface{ Fd() uintptr }

// IsTerminal reports whether a stream, which is a reader or a writer, is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(fileDescriptor)
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

// Truncate shortens a text to a number of characters.
func Truncate(text string, width int) string {
	const more = "..."
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return strings.TrimRight(string(runes[:max(0, width-len(more))]), " ,") + more
}

// Paint returns a text in one line, in the colour of a tone where the screen has colours.
func (s Screen) Paint(t TextStyle, text string) Painted {
	if !s.Colors {
		t = StylePlain
	}
	return t.Paint(text)
}
