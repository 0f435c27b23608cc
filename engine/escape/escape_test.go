package escape_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/berth-project/berth/engine/escape"
)

func TestControlCharactersAreSpelledOut(t *testing.T) {
	for name, tc := range map[string]struct{ text, want, lines string }{
		"plain text stays":                       {"größe 東京 👍", "größe 東京 👍", "größe 東京 👍"},
		"a sequence that colours":                {"\x1b[31mred", "^[[31mred", "^[[31mred"},
		"the bell and backspace":                 {"a\ab\bc", `a\u0007b\u0008c`, `a\u0007b\u0008c`},
		"a line that is overwritten":             {"bad\rgood", `bad\rgood`, `bad\rgood`},
		"a line that is forged":                  {"a\nb\tc", `a\nb\tc`, "a\nb\tc"},
		"the sequence introducer of one rune":    {"\u009b2J", `\u009b2J`, `\u009b2J`},
		"delete":                                 {"\x7f", `\u007f`, `\u007f`},
		"text that is reversed":                  {"\u202egnp\u2066x\u200f", `\u202egnp\u2066x\u200f`, `\u202egnp\u2066x\u200f`},
		"separators of lines and paragraphs":     {"\u2028\u2029", `\u2028\u2029`, `\u2028\u2029`},
		"a format character beyond 16 bits":      {"\U000e0041", `\udb40\udc41`, `\udb40\udc41`},
		"what is not UTF-8":                      {"a\xffb\x9b", "a\ufffdb\ufffd", "a\ufffdb\ufffd"},
		"a null byte":                            {"\x00", `\u0000`, `\u0000`},
		"a zero width space, which hides a name": {"a\u200bb", `a\u200bb`, `a\u200bb`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := escape.Text(tc.text); got != tc.want {
				t.Errorf("Text = %q, want %q", got, tc.want)
			}
			if got := escape.Lines(tc.text); got != tc.lines {
				t.Errorf("Lines = %q, want %q", got, tc.lines)
			}
		})
	}
}

// FuzzText holds for any text that nothing is left that a terminal acts on, and that escaping twice is escaping once.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "a", "\x1b]0;x\a", "\u202e", "\xff\x9b", "\U000e0041", "\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := escape.Text(text)
		if strings.ContainsFunc(once, escape.Control) || !utf8.ValidString(once) {
			t.Errorf("%q holds a control character or is not UTF-8", once)
		}
		if twice := escape.Text(once); twice != once {
			t.Errorf("escaped twice it is %q, once %q", twice, once)
		}
	})
}
