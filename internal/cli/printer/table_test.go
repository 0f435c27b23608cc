package printer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	rows := [][]string{{"NAME", "COUNT", "CLUSTERS"}, {"shop/web", "3", "eu-1, eu-2, eu-3, eu-4, eu-5"}, {"a", "", "é, b"}}
	for name, tc := range map[string]struct {
		screen   Screen
		flexible []int
		want     string
	}{
		"a pipe holds everything": {Screen{}, []int{2}, "" +
			"  NAME       COUNT   CLUSTERS\n" +
			"  shop/web   3       eu-1, eu-2, eu-3, eu-4, eu-5\n" +
			"  a                  é, b\n"},
		"what does not fit is cut": {Screen{Width: 40}, []int{2}, "" +
			"  NAME       COUNT   CLUSTERS\n" +
			"  shop/web   3       eu-1, eu-2, eu-3...\n" +
			"  a                  é, b\n"},
		"no column vanishes": {Screen{Width: 10}, []int{2}, "" +
			"  NAME       COUNT   CLUSTERS\n" +
			"  shop/web   3       eu-1, eu-...\n" +
			"  a                  é, b\n"},
		"names are never cut": {Screen{Width: 10}, nil, "" +
			"  NAME       COUNT   CLUSTERS\n" +
			"  shop/web   3       eu-1, eu-2, eu-3, eu-4, eu-5\n" +
			"  a                  é, b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			table := NewTable(&out, "  ")
			table.Screen, table.Flexible = tc.screen, tc.flexible
			for _, row := range rows {
				table.Row(row...)
			}
			if err := table.Flush(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRowsThatComeLaterKeepTheColumns(t *testing.T) {
	var out strings.Builder
	table := NewTable(&out, "")
	for _, row := range [][]string{{"longest", "1"}, {"a", "2"}} {
		table.Row(row...)
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if want := "longest   1\na         2\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestColoursLeaveTheColumnsAlone(t *testing.T) {
	var out strings.Builder
	table := NewTable(&out, "")
	table.Screen = Screen{Colors: true}
	table.Add([]Cell{{"True", StyleGood}, {"x", StylePlain}})
	table.Add([]Cell{{"False", StyleBad}, {"y", StyleFaint}})
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b[32mTrue\x1b[0m    x\n\x1b[31mFalse\x1b[0m   \x1b[2my\x1b[0m\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
