// Package terminal owns what reaches a terminal or a log: text whose control characters are spelled out, and the sequences
// that a program writes itself.
//
// It does not know lines and cells, which their printers escape. One invariant: no control character passes but line feeds,
// tabs and those sequences.
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

// Writer escapes what is written to it, but for line feeds, tabs and the sequences that its owner writes itself. It is safe
// for concurrent use.
type Writer struct {
	to io.Writer
	// allowed are sequences that pass.
	allowed []string

	mu sync.Mutex
	// partial is the beginning of a rune whose end was not written yet.
	partial []byte
}

// NewWriter returns a writer that lets some sequences pass.
func NewWriter(to io.Writer, own ...string) *Writer { return &Writer{to: to, allowed: own} }

// Write implements io.Writer. A rune may be spread over two calls, a sequence may not.
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

// incompleteRune returns how many bytes at the end of a text may begin a rune.
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

// Fd returns the file descriptor that is written to, so that a terminal can be recognized as one; the highest number, which
// no file has, where there is none.
func (w *Writer) Fd() uintptr {
	if file, ok := w.to.(interface{ Fd() uintptr }); ok {
		return file.Fd()
	}
	return ^uintptr(0)
}
