package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-project/berth/bench/bound"
	"github.com/berth-project/berth/bench/run"
)

func TestWrongCommandLines(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "rangespec.yaml")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		args []string
		want string
	}{
		"an unknown run":    {[]string{"-only", "webhook,wormhole"}, `"wormhole": no such run; there are webhook`},
		"no times":          {[]string{"-times", "0"}, "-times must be 1 to 1000"},
		"a soak too short":  {[]string{"-only", "soak", "-for", "1s"}, "-for must be 3m to 24h"},
		"no hub to read":    {[]string{"-read", filepath.Join(t.TempDir(), "none")}, "reading the hub's kubeconfig"},
		"an unknown flag":   {[]string{"-x"}, "-x"},
		"no bounds":         {[]string{"-bounds", filepath.Join(t.TempDir(), "none")}, "reading the bounds"},
		"no binaries there": {[]string{"-bounds", empty, "-bin", t.TempDir()}, "run webhook: starting "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := command(t.Context(), tc.args, io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

// TestEveryBoundIsOfARun checks that the name of every bound is the name of a run.
func TestEveryBoundIsOfARun(t *testing.T) {
	data, err := os.ReadFile("../../rangespec.yaml")
	if err != nil {
		t.Fatal(err)
	}
	book, err := bound.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range run.Available() {
		delete(book, r.Name)
	}
	for name := range book {
		t.Errorf("there are bounds of %q, and no such run", name)
	}
}
