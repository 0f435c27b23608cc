package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/internal/checkout"
)

// TestResultsOfAnAreaThatChangesMeanwhileAreDropped: a run takes the digests before the tests read the files. A page that was wrong then
// and right when its test read it must not have a kept result when it is wrong again.
func TestResultsOfAnAreaThatChangesMeanwhileAreDropped(t *testing.T) {
	root := t.TempDir()
	write := func(area, text string) {
		t.Helper()
		folder := filepath.Join(root, filepath.FromSlash(area))
		if err := os.MkdirAll(folder, folderMode); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "file"), []byte(text), fileMode); err != nil {
			t.Fatal(err)
		}
	}
	for _, area := range checkout.Areas() {
		write(area, "wrong")
	}
	read := func() []string {
		t.Helper()
		out, err := digests(root)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	drop := func(environment []string) []string {
		t.Helper()
		out, err := dropChanged(root, environment)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	first := read()
	if got := drop(first); got != nil {
		t.Errorf("nothing has changed, and the results of %v are dropped", got)
	}
	area := checkout.Areas()[0]
	write(area, "right")
	if diff := cmp.Diff([]string{checkout.Variable(checkout.AreaKind, area)}, drop(first)); diff != "" {
		t.Errorf("dropped after a change (-want +got):\n%s", diff)
	}
	write(area, "wrong")
	if second := read(); second[0] == first[0] {
		t.Errorf("the area has the digest %s again, and with it the result of a test that read other bytes", second[0])
	}
}
