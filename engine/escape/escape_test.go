package escape_test

import (
	"bytes"
	"encoding/json"
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

func TestWriterLetsItsOwnSequencesPass(t *testing.T) {
	var out bytes.Buffer
	w := escape.NewWriter(&out, "\x1b[32m", "\x1b[0m", "\r\x1b[K")
	for _, part := range []string{"\r\x1b[K\x1b[32mok\x1b[0m\n", "\x1b[31m\x1b]0;x\a\r", "\xe2\x80", "\xae", "ü"} {
		if n, err := w.Write([]byte(part)); err != nil || n != len(part) {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if got, want := out.String(), "\r\x1b[K\x1b[32mok\x1b[0m\n^[[31m^[]0;x\\u0007\\r\\u202eü"; got != want {
		t.Errorf("written %q, want %q", got, want)
	}
}

// FuzzText holds for any text that nothing is left that a terminal acts on, that escaping twice is escaping once, and that
// a JSON document stays the same document.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "a", "\x1b]0;x\a", "\u202e", "\xff\x9b", "\U000e0041", "\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := escape.Text(text)
		if strings.IndexFunc(once, escape.Control) >= 0 || !utf8.ValidString(once) {
			t.Errorf("%q holds a control character or is not UTF-8", once)
		}
		if twice := escape.Text(once); twice != once {
			t.Errorf("escaped twice it is %q, once %q", twice, once)
		}
		encoded, err := json.MarshalIndent(map[string]string{"text": text}, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		var before, after map[string]string
		if err := json.Unmarshal(encoded, &before); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := escape.NewWriter(&out).Write(encoded); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out.Bytes(), &after); err != nil || after["text"] != before["text"] {
			t.Errorf("the document %q became %q: %v", encoded, out.Bytes(), err)
		}
	})
}
