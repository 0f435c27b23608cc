package printer

import (
	"strings"
	"testing"
)

func TestScreen(t *testing.T) {
	for name, tc := range map[string]struct {
		terminal bool
		width    int
		env      map[string]string
		want     Screen
	}{
		"a pipe":                            {want: Screen{}},
		"a pipe with COLUMNS":               {env: map[string]string{"COLUMNS": "120"}, want: Screen{Width: 120}},
		"a pipe with COLUMNS that is none":  {env: map[string]string{"COLUMNS": "wide"}, want: Screen{}},
		"a pipe with COLUMNS below nothing": {env: map[string]string{"COLUMNS": "-1"}, want: Screen{}},
		"a terminal":                        {terminal: true, width: 132, want: Screen{Colors: true, Width: 132}},
		"a terminal knows better than COLUMNS": {
			terminal: true, width: 132, env: map[string]string{"COLUMNS": "100"},
			want: Screen{Colors: true, Width: 132},
		},
		"a terminal that does not tell": {terminal: true, want: Screen{Colors: true, Width: 80}},
		"a terminal that does not tell, with COLUMNS": {
			terminal: true, env: map[string]string{"COLUMNS": "100"},
			want: Screen{Colors: true, Width: 100},
		},
		"a terminal of one who wants no colour": {
			terminal: true, width: 80, env: map[string]string{"NO_COLOR": "1"},
			want: Screen{Width: 80},
		},
		"a dumb terminal": {
			terminal: true, width: 80, env: map[string]string{"TERM": "dumb"},
			want: Screen{Width: 80},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := newScreen(tc.terminal, tc.width, func(name string) string { return tc.env[name] })
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestBufferIsNoTerminal(t *testing.T) {
	var out strings.Builder
	if IsTerminal(&out) || terminalWidth(&out) != 0 || NewProgress(&out, nil) != nil {
		t.Error("a buffer passes for a terminal")
	}
}
