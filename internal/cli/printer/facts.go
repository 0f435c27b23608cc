package printer

import (
	"cmp"
	"io"
)

// maxLabel is how wide the labels of facts are.
const maxLabel = 11

// Facts writes labelled facts about one thing, each below the other.
type Facts struct {
	w      io.Writer
	screen Screen
	width  int
}

// NewFacts returns a writer of facts for a screen.
func NewFacts(w io.Writer, on Screen) Facts {
	return Facts{w, on, max(MinLineWidth, cmp.Or(on.Width, DefaultWidth)-maxLabel-4)}
}

// Field writes a fact; nothing for an empty text.
func (f Facts) Field(label, text string) { f.Styled(label, text, StylePlain) }

// Styled writes a fact in a style.
func (f Facts) Styled(label, text string, style TextStyle) {
	if text == "" {
		return
	}
	for _, line := range Wrap(text, f.width) {
		Printf(f.w, "  %-*s  %s\n", maxLabel, label, f.screen.Paint(style, line))
		label = ""
	}
}

// LineWidth returns how many characters a line of prose has on a screen.
func (s Screen) LineWidth() int { return max(MinLineWidth, cmp.Or(s.Width, DefaultWidth)) }
