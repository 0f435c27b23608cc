package terminal_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/berth-project/berth/internal/kube/terminal"
)

func TestWriterLetsItsOwnSequencesPass(t *testing.T) {
	var out bytes.Buffer
	w := terminal.NewWriter(&out, "\x1b[32m", "\x1b[0m", "\r\x1b[K")
	for _, part := range []string{"\r\x1b[K\x1b[32mok\x1b[0m\n", "\x1b[31m\x1b]0;x\a\r", "\xe2\x80", "\xae", "ü"} {
		if n, err := w.Write([]byte(part)); err != nil || n != len(part) {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if got, want := out.String(), "\r\x1b[K\x1b[32mok\x1b[0m\n^[[31m^[]0;x\\u0007\\r\\u202eü"; got != want {
		t.Errorf("written %q, want %q", got, want)
	}
}

// FuzzWriter holds for any text that a JSON document with it stays the same document.
func FuzzWriter(f *testing.F) {
	for _, seed := range []string{"", "a", "\x1b]0;x\a", "\u202e", "\xff\x9b", "\U000e0041", "\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		encoded, err := json.MarshalIndent(map[string]string{"text": text}, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		var before, after map[string]string
		if err := json.Unmarshal(encoded, &before); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := terminal.NewWriter(&out).Write(encoded); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out.Bytes(), &after); err != nil || after["text"] != before["text"] {
			t.Errorf("the document %q became %q: %v", encoded, out.Bytes(), err)
		}
	})
}
