//go:build slow

package console

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func openFiles(t *testing.T) *browser {
	t.Helper()
	address, _ := serve(t, "-f", filepath.Join(root, "examples", "demo"))
	return open(t, address)
}

// TestFleet filters, colours and opens clusters.
func TestFleet(t *testing.T) {
	b := openFiles(t)
	b.wait("the grid", `document.querySelector("#legend li")`)
	if got := evaluate[string](b, "location.href"); strings.Contains(got, "secret") {
		t.Errorf("the address is %s, want no secret in it", got)
	}
	if got := evaluate[string](b, "document.cookie"); got != "" {
		t.Errorf("a script reads the cookie %q", got)
	}
	b.do(chromedp.SendKeys("#filter", "eu region=eu", chromedp.ByQuery))
	b.waitText("4 of 12 clusters match")
	if got := evaluate[string](b, "location.search"); got != "?q=eu+region%3Deu" {
		t.Errorf("the address has %s, want the filter", got)
	}
	b.visit("/?q=eu-1&colour=placement:shop/orders&group=label:region")
	b.waitText("1 of 12 clusters match")
	b.wait("the colours of the placement", `document.querySelector("#legend").innerText.includes("Selected 3")`)
	b.picture("fleet-placement")

	// The keyboard alone: to the grid, to the second cluster of the first region, and into it.
	b.visit("/?group=label:region")
	b.wait("the grid", `document.querySelector("#legend li")`)
	b.do(chromedp.Focus("#grid", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowRight))
	b.waitText("ap-2 · healthy")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.wait("the page of the cluster", `location.pathname === "/clusters/ap-2"`)
	b.waitText("What would select it?")
	b.checkProblems(t)
}

// TestSearch goes from any page to an object with the keyboard.
func TestSearch(t *testing.T) {
	b := openFiles(t)
	b.visit("/hub")
	b.do(chromedp.KeyEvent("/"))
	b.wait("the focus", `document.activeElement.id === "search"`)
	b.do(chromedp.KeyEvent("train"))
	b.wait("the match", `document.querySelector("#suggestions li")?.innerText.includes("train")`)
	b.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
	b.wait("the page of the placement", `location.pathname === "/placements/data/training"`)
	b.checkProblems(t)
}

// TestPlacement follows the clusters through a decision, and finds what would select one.
func TestPlacement(t *testing.T) {
	b := openFiles(t)
	b.visit("/placements/data/training")
	b.do(chromedp.Click(`.funnel a[href*="stage=sets"]`, chromedp.ByQuery))
	b.waitText("Rejected there")
	b.do(chromedp.SendKeys(`input[name=cluster]`, "us-1\r", chromedp.ByQuery))
	b.waitText("as a run has proved")
	b.checkProblems(t)
}

// TestPreview tries a change while it is typed.
func TestPreview(t *testing.T) {
	b := openFiles(t)
	b.visit("/preview")
	b.do(chromedp.SendKeys("#cluster", "eu-1", chromedp.ByQuery), chromedp.Click("#delete", chromedp.ByQuery))
	b.waitText("there is no such cluster")
	b.picture("preview")
	b.do(chromedp.Click("#steps button", chromedp.ByQuery))
	b.waitText("Type or paste an object")
	b.wait("the values of the label",
		`document.querySelector("#label").value === "region" && document.querySelector("#label-value option[value=eu]")`)
	b.do(chromedp.SetValue("#label-value", "eu", chromedp.ByQuery), chromedp.Click("#fail", chromedp.ByQuery))
	b.waitText("clusters with region=eu fail")
	b.waitText("taint drained:NoSelect")
	b.do(chromedp.Click("#steps button", chromedp.ByQuery))
	b.waitText("Type or paste an object")
	b.checkProblems(t)
}

// TestEditor writes a placement with the keyboard and the proposals of the schema, and corrects a fault at its line.
func TestEditor(t *testing.T) {
	b := openFiles(t)
	b.visit("/preview")
	proposed := func(text string) {
		t.Helper()
		b.wait("the proposal "+text,
			fmt.Sprintf(
				`!document.querySelector("#options").hidden && document.querySelector('#options [aria-selected="true"]').innerText.startsWith(%q)`,
				text))
	}
	b.do(chromedp.Focus("#yaml", chromedp.ByQuery), chromedp.KeyEvent("api"))
	proposed("apiVersion")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.wait("the versions", `!document.querySelector("#options").hidden`)
	b.do(chromedp.KeyEvent("cluster.open-cluster-management.io/v1beta1"), chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent(kb.Enter),
		chromedp.KeyEvent("kind: "))
	b.do(chromedp.KeyEvent("Placem"))
	proposed("Placement")
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent("metadata:"), chromedp.KeyEvent(kb.Enter),
		chromedp.KeyEvent("name: more"), chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent("namespace: shop"),
		chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent(kb.Enter))
	b.do(chromedp.KeyEvent(kb.Backspace), chromedp.KeyEvent(kb.Backspace), chromedp.KeyEvent("spec:"), chromedp.KeyEvent(kb.Enter),
		chromedp.KeyEvent("numberOf"))
	proposed("numberOfClusters")
	b.picture("preview-proposals")
	b.checkAccessibility(t, "preview with proposals")
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("-1"))
	const want = "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata:\n  name: more\n  namespace: " +
		"shop\nspec:\n  numberOfClusters: -1"
	if got := evaluate[string](b, `document.querySelector("#yaml").value`); got != want {
		t.Fatalf("the text is %q, want %q", got, want)
	}
	b.wait("the fault at its line",
		`document.querySelector("#gutter .wrong")?.textContent === "7" && document.querySelector("#faults button")?.textContent === "Line 7"`)
	b.picture("preview-fault")
	b.checkAccessibility(t, "preview with a fault")
	b.do(chromedp.Click("#faults button", chromedp.ByQuery), chromedp.KeyEvent("  numberOfClusters: 1"))
	b.waitText("shop/more")
	b.wait("no fault", `!document.querySelector("#gutter .wrong") && document.querySelector("#yaml").getAttribute("aria-invalid") === "false"`)
	b.checkProblems(t)
}

// TestLooks opens every page at several widths, light and dark: none may be wider than the window, axe may find nothing, and the boxes, the
// colours and the texts are those of the golden file.
func TestLooks(t *testing.T) {
	b := openFiles(t)
	shown := map[string]string{}
	for _, look := range []struct {
		width  int64
		scheme string
	}{{360, "light"}, {360, "dark"}, {1280, "light"}, {1280, "dark"}, {2560, "light"}, {2560, "dark"}} {
		b.look(look.width, look.scheme)
		for name, path := range map[string]string{
			"fleet": "/", "table": "/?view=table", "cluster": "/clusters/eu-4", "placements": "/placements",
			"placement": "/placements/data/training?stage=sets&cluster=eu-3",
			"search":    "/search?q=eu", "preview": "/preview", "hub": "/hub", "missing": "/clusters/none",
		} {
			name := fmt.Sprintf("%s-%d-%s", name, look.width, look.scheme)
			b.visit(path)
			b.wait("the script", `document.querySelector("#grid") === null || document.querySelector("#legend li")`)
			if got := evaluate[int64](b, "document.documentElement.scrollWidth"); got > look.width {
				t.Errorf("%s is %d pixels wide, want at most %d", name, got, look.width)
			}
			b.checkAccessibility(t, name)
			b.picture(name)
			shown[name] = b.layout()
		}
	}
	checkGolden(t, shown)
	b.checkProblems(t)
}

// TestLostConnection ends the console while a page is open.
func TestLostConnection(t *testing.T) {
	address, stop := serve(t, "-f", filepath.Join(root, "examples", "demo"))
	b := open(t, address)
	b.visit("/placements")
	b.waitText("Live")
	stop()
	b.waitText("The connection is lost")
}

// TestSecondBrowser opens the URL again.
func TestSecondBrowser(t *testing.T) {
	address, _ := serve(t, "-f", filepath.Join(root, "examples", "demo"))
	first := open(t, address)
	first.do(chromedp.Navigate(address))
	if got := first.text(); !strings.Contains(got, "was used before") {
		t.Errorf("the second use shows %q, want that the URL was used", got)
	}
}
