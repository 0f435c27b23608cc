package demo

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrapped(t *testing.T) {
	cases := map[string]struct {
		text string
		want []string
	}{
		"nothing":                     {"", []string{""}},
		"what fits":                   {"ab cd", []string{"ab cd"}},
		"what does not":               {"ab cd efgh", []string{"ab cd", "efgh"}},
		"a word that is too long":     {"ab cdefghijk l", []string{"ab", "cdef...", "l"}},
		"letters of more than a byte": {"äö üß éèêç", []string{"äö üß", "éèêç"}},
		"a line break in the text":    {"ab\ncd", []string{"ab cd"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, wrapped(tc.text, 7)); diff != "" {
				t.Errorf("wrapped (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTableStaysInItsWidth(t *testing.T) {
	var out strings.Builder
	p := &page{out: &out}
	p.table([][]string{{"A", "B"}, {"short", strings.Repeat("long ", 30)}})
	want := "  A      B\n  short  " + strings.Repeat("long ", 14)[:68] + "...\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestFieldKeepsLabelAndTextApart(t *testing.T) {
	var out strings.Builder
	p := &page{out: &out}
	p.field(plain, "a-label-that-is-long", "text")
	p.field(plain, "short", "text")
	want := "  a-label-that-is-long\n                    text\n  short             text\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestColoursAreLeftOut(t *testing.T) {
	for colour, want := range map[bool]string{true: "\x1b[32mgo\x1b[0m", false: "go"} {
		if got := (&page{colour: colour}).paint(green, "go"); got != want {
			t.Errorf("colour %v: %q, want %q", colour, got, want)
		}
	}
}

var errBoom = errors.New("boom")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBoom }

func TestPageRemembersThatItCannotPrint(t *testing.T) {
	p := &page{out: broken{}}
	p.heading("A", "b")
	p.field(plain, "c", "d")
	if !errors.Is(p.err, errBoom) {
		t.Errorf("error %v, want %v", p.err, errBoom)
	}
}
