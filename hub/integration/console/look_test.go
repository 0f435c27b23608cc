//go:build slow

package console

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

var update = flag.Bool("update", false, "write the golden file of the layout")

// golden has the boxes, the colours and the texts of every page.
var golden = filepath.Join("testdata", "looks.txt")

// layoutScript returns a line for each box of a page: its place and its width, which do not depend on the fonts of the machine, its
// colours, and the text of headings, buttons, fields and heads of tables.
const layoutScript = `(() => {
  const lines = [];
  const box = (element, name) => {
    const at = element.getBoundingClientRect(), style = getComputedStyle(element);
    lines.push(name + ": x " + Math.round(at.x) + ", width " + Math.round(at.width) + ", " + style.color + " on " + style.backgroundColor);
  };
  box(document.body, "body");
  box(document.querySelector(".top"), "top");
  box(document.querySelector("main"), "main");
  for (const section of document.querySelectorAll("main > section")) {
    if (section.children.length === 0) continue;
    box(section, "section " + section.id);
    section.querySelectorAll(".card, .tile").forEach((card, i) => box(card, "  card " + (i + 1)));
    const words = [...section.querySelectorAll("h2, h3, dt, th[scope=col], button, label, .stage, .pill")].map((each) => each.innerText.replace(/\s+/g, " ").trim()).filter((text) => text !== "");
    if (words.length > 0) lines.push("  " + words.slice(0, 60).join(" | "));
  }
  return lines.join("\n");
})()`

// age matches what depends on the time of the test.
var age = regexp.MustCompile(`(in )?\d+ (s|min|h|d)( ago)?|\bnow\b`)

// layout returns the boxes, the colours and the texts of the page.
func (b *browser) layout() string {
	b.t.Helper()
	return age.ReplaceAllString(evaluate[string](b, layoutScript), "TIME")
}

// checkGolden compares what pages show with the golden file.
func checkGolden(t *testing.T, shown map[string]string) {
	t.Helper()
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		fmt.Fprintf(&out, "== %s\n%s\n", name, shown[name])
	}
	if *update {
		kit.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
		kit.NoError(t, os.WriteFile(golden, []byte(out.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v; write it with -update", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(out.String(), "\n")); diff != "" {
		t.Errorf("the layout (-want +got); write it with -update if you can explain each difference:\n%s", diff)
	}
}
