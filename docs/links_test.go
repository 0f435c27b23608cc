// Package docs holds no code: its test checks the documentation.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = ".."

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	fence   = regexp.MustCompile("(?ms)^```.*?^```")
	diagram = regexp.MustCompile("(?m)^```mermaid\n(.*)$")
	other   = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// pages returns the Markdown files of the repository, without hidden and built folders.
func pages(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"bin", "node_modules", "testdata"}, name)) {
			return fs.SkipDir
		}
		if filepath.Ext(name) == ".md" {
			out = append(out, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestLinks checks that every relative link names a file that exists, and an anchor that is a heading in it.
func TestLinks(t *testing.T) {
	for _, page := range pages(t) {
		text := read(t, page)
		for _, found := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			target := found[1]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			name, anchor, _ := strings.Cut(target, "#")
			file := page
			if name != "" {
				file = filepath.Join(filepath.Dir(page), name)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: link to %s: there is no such file", page, target)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(read(t, file)), anchor) {
				t.Errorf("%s: link to %s: there is no such heading", page, target)
			}
		}
	}
}

// anchors returns the anchors of headings: lower case, words joined by dashes, without other signs.
func anchors(text string) []string {
	var out []string
	for _, found := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		name := strings.ToLower(other.ReplaceAllString(found[1], ""))
		out = append(out, strings.ReplaceAll(name, " ", "-"))
	}
	return out
}

// TestDiagrams checks the kind and the brackets of each diagram, without drawing it.
func TestDiagrams(t *testing.T) {
	for _, page := range pages(t) {
		text := read(t, page)
		for _, found := range diagram.FindAllStringSubmatch(text, -1) {
			if kind, _, _ := strings.Cut(found[1], " "); !slices.Contains(
				[]string{"flowchart", "gantt", "sequenceDiagram", "stateDiagram-v2", "xychart-beta"}, kind) {
				t.Errorf("%s: diagram of kind %q", page, kind)
			}
		}
		for _, block := range fence.FindAllString(text, -1) {
			if !strings.HasPrefix(block, "```mermaid") {
				continue
			}
			for _, pair := range []string{"[]", "{}", "()"} {
				if strings.Count(block, pair[:1]) != strings.Count(block, pair[1:]) {
					t.Errorf("%s: a diagram has %s that do not close", page, pair)
				}
			}
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
