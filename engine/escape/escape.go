// Package escape owns how text from objects is shown: it escapes control characters. So a label, a taint or a message
// cannot move the cursor of a terminal, forge a line of a log or reverse the text on a screen.
//
// It does not decide where text is shown: printers, conditions, events and logs call it where they write. One invariant:
// a second escape changes nothing.
package escape

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns a text in one line, with every control character escaped. ESC becomes ^[ and a carriage return becomes \r,
// as kubectl prints them. The others become \n, \t or \u009b. Bytes that are not UTF-8 become the replacement character.
func Text(text string) string { return escapeRunes(text, Control) }

// Lines does the same for a text of several lines: line feeds and tabs stay.
func Lines(text string) string {
	return escapeRunes(text, func(r rune) bool { return Control(r) && r != '\n' && r != '\t' })
}

// Control reports whether a terminal or an editor may interpret a rune instead of showing it. These runes are the control
// characters of Unicode, its line and paragraph separators, and the format characters, which reverse or hide text.
func Control(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

func escapeRunes(text string, control func(rune) bool) string {
	if utf8.ValidString(text) && strings.IndexFunc(text, control) < 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if control(r) {
			out.WriteString(escapeRune(r))
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// escapeRune returns the text that replaces a control character. It is the escape of JSON, so that an escaped JSON document has
// the same content. ESC, which a JSON document never contains, has a shorter one.
func escapeRune(r rune) string {
	switch {
	case r == '\x1b':
		return "^["
	case r == '\r':
		return `\r`
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r > 0xffff:
		const base, half, high, low = 0x10000, 10, 0xd800, 0xdc00
		return fmt.Sprintf(`\u%04x\u%04x`, high+(r-base)>>half, low+(r-base)&(1<<half-1))
	default:
		return fmt.Sprintf(`\u%04x`, r)
	}
}
