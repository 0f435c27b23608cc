package deptest

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/checkout"
)

// graph is every package that this module builds, with its imports, by import path.
type graph map[string]node

type node struct {
	ImportPath string   `json:"ImportPath"`
	Standard   bool     `json:"Standard"`
	Imports    []string `json:"Imports"`
}

func load(t *testing.T) graph {
	t.Helper()
	checkout.RequireSources(t)
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Standard,Imports", "./...")
	cmd.Dir = filepath.Join("..", "..")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	g := graph{}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var n node
		if err := decoder.Decode(&n); errors.Is(err, io.EOF) {
			return g
		} else if err != nil {
			t.Fatal(err)
		}
		g[n.ImportPath] = n
	}
}

// packagesIn returns the packages in the given trees, sorted.
func (g graph) packagesIn(from, except []string) []string {
	in := func(pkg string, trees []string) bool {
		return slices.ContainsFunc(trees, func(tree string) bool { return below(pkg, tree) })
	}
	var out []string
	for _, pkg := range slices.Sorted(maps.Keys(g)) {
		if in(pkg, from) && !in(pkg, except) {
			out = append(out, pkg)
		}
	}
	return out
}

// importChain returns the shortest chain of imports from a package to a package in the given trees, or nil.
func (g graph) importChain(from string, trees []string) []string {
	before := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		pkg := queue[0]
		if pkg != from && slices.ContainsFunc(trees, func(tree string) bool { return below(pkg, tree) }) {
			var way []string
			for ; pkg != ""; pkg = before[pkg] {
				way = append(way, pkg)
			}
			slices.Reverse(way)
			return way
		}
		for _, next := range g[pkg].Imports {
			if _, seen := before[next]; !seen {
				before[next] = pkg
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// TestChain checks that a rule can fail.
func TestChain(t *testing.T) {
	g := graph{
		"a": {Imports: []string{"b", "c"}},
		"b": {Imports: []string{"c"}},
		"c": {Imports: []string{"d/e"}},
	}
	if got, want := g.importChain("a", []string{"d"}), []string{"a", "c", "d/e"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := g.importChain("a", []string{"d/f"}); got != nil {
		t.Errorf("got %v, want nothing", got)
	}
}
