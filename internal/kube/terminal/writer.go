// Package terminal escapes control characters in text for a terminal or a log.
//
// Printers escape their lines and cells themselves. One invariant: no control character passes but line feeds, tabs and the
// escape sequences that the program writes itself.
package terminal

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/berth-project/berth/engine/escape"
)

// Writer escapes control characters, except line feeds, tabs and its allowed sequences. It is safe for concurrent use.
type Writer struct {
	to io.Writer
	// allowed are the sequences that pass.
	allowed []string

	mu sync.Mutex
	// partial is the start of an incomplete rune.
	partial []byte
}

// NewWriter returns a writer that lets some sequences pass.
func NewWriter(to io.Writer, own ...string) *Writer { return &Writer{to: to, allowed: own} }

// Write implements io.Writer. A rune may be split between two calls. A sequence may not.
func (w *Writer) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := slices.Concat(w.partial, data)
	end := len(text) - incompleteRune(text)
	out := w.escaped(string(text[:end]))
	w.partial = bytes.Clone(text[end:])
	if _, err := io.WriteString(w.to, out); err != nil {
		return 0, err
	}
	return len(data), nil
}

// incompleteRune returns how many bytes at the end of a text start a rune without its end.
func incompleteRune(text []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if at := text[len(text)-back:]; utf8.RuneStart(at[0]) {
			if utf8.FullRune(at) {
				return 0
			}
			return back
		}
	}
	return 0
}

func (w *Writer) escaped(text string) string {
	var out strings.Builder
	for {
		at := strings.IndexFunc(text, func(r rune) bool { return r == '\x1b' || r == '\r' })
		if at < 0 {
			out.WriteString(escape.Lines(text))
			return out.String()
		}
		out.WriteString(escape.Lines(text[:at]))
		text = text[at:]
		passed := 1
		for _, sequence := range w.allowed {
			if strings.HasPrefix(text, sequence) {
				passed = len(sequence)
				out.WriteString(sequence)
				break
			}
		}
		if passed == 1 {
			out.WriteString(escape.Lines(text[:1]))
		}
		text = text[passed:]
	}
}

// Fd returns the file descriptor of the output, by which callers detect a terminal. It returns the highest number if the
// output has no descriptor.
func (w *Writer) Fd() uintptr {
	if file, ok := w.to.(interface{ Fd() uintptr }); ok {
		return file.Fd()
	}
	return ^uintptr(0)
}
