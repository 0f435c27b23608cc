//go:build slow

package console

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	coordinationv1 "k8s.io/api/coordination/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// effort is what a user does to get an answer: clicks of the mouse, words that are typed, and pages that are loaded.
type effort struct{ clicks, words, loads int }

// story is a question that a user answers with a page, from the first page on, by what is visible alone.
type story struct {
	page, question string
	// most is the effort that it may take.
	most effort
	play func(s *player)
}

// player plays a story in a browser, which counts.
type player struct {
	*browser

	words int
}

// counting is a script that counts what a user does, over the pages of a window. A click by the keyboard or by a script does not count.
const counting = `(() => {
  try {
    const add = (name) => { sessionStorage[name] = String(1 + Number(sessionStorage[name] ?? 0)); };
    add("loads");
    addEventListener("click", (event) => { if (event.isTrusted && event.detail > 0) add("clicks"); }, true);
  } catch {} // about:blank has no storage
})()`

// startCounting lets every page count that the window opens from now on.
func (b *browser) startCounting() {
	b.t.Helper()
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(counting).Do(ctx)
		return err
	}))
}

// play plays a story from the first page on, and returns the effort that it took.
func (b *browser) play(of story) effort {
	b.t.Helper()
	b.visit("/")
	b.wait("the grid", `document.querySelector("#legend li")`)
	b.do(chromedp.Evaluate("sessionStorage.clear()", nil))
	s, began := &player{browser: b}, time.Now()
	of.play(s)
	took := time.Since(began)
	out := effort{
		clicks: evaluate[int](b, "Number(sessionStorage.clicks ?? 0)"), words: s.words,
		loads: evaluate[int](b, "Number(sessionStorage.loads ?? 0)"),
	}
	b.t.Logf("%s: %s %d clicks, %d words, %d pages, %.1f s", of.page, of.question, out.clicks, out.words, out.loads, took.Seconds())
	return out
}

func (p *player) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(selector, chromedp.ByQuery))
}

// write types where the cursor is.
func (p *player) write(text string) {
	p.t.Helper()
	p.words += len(strings.Fields(text))
	p.do(chromedp.KeyEvent(text))
}

// search goes to what a search suggests first, by the keyboard.
func (p *player) search(text string) {
	p.t.Helper()
	// Without its character, which a browser leaves out where a page has used the key.
	p.do(input.DispatchKeyEvent(input.KeyRawDown).WithKey("/").WithCode("Slash"),
		input.DispatchKeyEvent(input.KeyUp).WithKey("/").WithCode("Slash"))
	p.wait("the focus", `document.activeElement.id === "search"`)
	p.write(text)
	p.wait("the match", fmt.Sprintf(`document.querySelector("#suggestions li")?.innerText.includes(%q)`, text))
	p.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
}

// stories are the main stories of the pages on a hub that works.
func stories() []story {
	return []story{
		{"Fleet", "which cluster is not healthy, and why?", effort{clicks: 2, loads: 2}, func(s *player) {
			s.click(`.tile a[href*="q=unhealthy"]`)
			s.waitText("1 in all")
			s.click(`#fleet-table a[href="/clusters/ap-4"]`)
			s.waitText("the API server does not answer")
		}},
		{"Cluster", "why does data/training not select us-1?", effort{words: 1, loads: 1}, func(s *player) {
			s.search("us-1")
			s.wait("the reason", `[...document.querySelectorAll("#cluster-reasons tbody tr")].some((row) =>
				row.innerText.startsWith("data/training") && row.querySelector(".pill").innerText !== "Selected" && row.children[2].innerText.trim() !== "")`)
		}},
		{"Placement", "what is the shortest change that lets data/training select us-1?", effort{clicks: 1, words: 1, loads: 2}, func(s *player) {
			s.search("us-1")
			s.click(`a[href^="/placements/data/training?cluster=us-1"]`)
			s.waitText("as a run has proved")
			s.wait("a step", `document.querySelector("#placement-fix .steps li")`)
		}},
		{"Preview", "which placements move, and where to, without eu-1?", effort{clicks: 3, words: 1, loads: 1}, func(s *player) {
			s.click(`nav a[href="/preview"]`)
			s.click("#cluster")
			s.write("eu-1")
			s.click("#delete")
			s.wait("lost and gained clusters",
				`document.querySelector("#preview-output .lost") && document.querySelector("#preview-output .gained")`)
			s.waitText("there is no such cluster")
		}},
		{"Rollouts", "what does the stopped rollout wait for? Let it go on", effort{clicks: 4, loads: 4}, func(s *player) {
			s.click(`nav a[href="/rollouts"]`)
			s.waitText("Unapproved")
			s.click(`a[href="/rollouts/ops/tools"]`)
			s.waitText("Approve 1…")
			s.click(`a[href*="action=approve"]`)
			s.waitText("Approve the group 1 in the rollout of ops/tools?")
			s.click(`form button[type=submit].primary`)
			s.waitText("The rollout of ops/tools is approved.")
		}},
	}
}

// hubStory is the story of the page of the hub, on a hub whose manager has stopped.
func hubStory() story {
	return story{"Hub", "what is wrong with the hub, and what is to be done?", effort{clicks: 1, loads: 1}, func(s *player) {
		s.click(`nav a[href="/hub"]`)
		s.waitText("The hub is not well")
		s.waitText("No manager leads.")
		s.waitText("Start a manager")
	}}
}

// TestStories plays the main story of each page. The how-to has what each takes, and the log the seconds.
func TestStories(t *testing.T) {
	hub := newHub(t)
	k := newRollout(t, hub)
	k.report("eu-1", "")
	k.report("us-1", "")
	failCluster(t, hub, "ap-4")
	address, _ := serve(t, "--kubeconfig", hub.Kubeconfig())
	b := open(t, address)
	b.startCounting()
	var rows []string
	for _, each := range stories() {
		rows = append(rows, checkStory(t, b, each))
	}
	b.checkProblems(t)

	still := hubtest.New(t, hubtest.Options{Manifests: os.DirFS(filepath.Join(root, "examples", "demo"))})
	losesItsManager(t, still)
	stillAddress, _ := serve(t, "--kubeconfig", still.Kubeconfig())
	b = open(t, stillAddress)
	b.startCounting()
	rows = append(rows, checkStory(t, b, hubStory()))
	b.checkProblems(t)
	checkTable(t, rows)
}

// checkStory plays a story, and returns its row in the how-to.
func checkStory(t *testing.T, b *browser, of story) string {
	t.Helper()
	got := b.play(of)
	if got.clicks > of.most.clicks || got.words > of.most.words || got.loads > of.most.loads {
		t.Errorf("%s: %s took %+v, want at most %+v", of.page, of.question, got, of.most)
	}
	return fmt.Sprintf("| %s | %s | %d | %d | %d |", of.page, of.question, got.clicks, got.words, got.loads)
}

// checkTable compares the table of the how-to with what the stories took.
func checkTable(t *testing.T, want []string) {
	t.Helper()
	text := kit.Must(os.ReadFile(filepath.Join(root, "docs", "how-to", "console.md"))).In(t)
	_, section, found := strings.Cut(string(text), "\n| page | question | clicks | words | pages |\n|---|---|---|---|---|\n")
	table, _, ended := strings.Cut(section, "\n\n")
	if !found || !ended || table != strings.Join(want, "\n") {
		t.Errorf("docs/how-to/console.md has the table\n%s\nwant\n%s", table, strings.Join(want, "\n"))
	}
}

// failCluster stores what the agent of a cluster reports whose API server does not answer.
func failCluster(t *testing.T, hub *hubtest.Hub, name string) {
	t.Helper()
	to := kit.New(t, hub)
	cluster := kit.Cluster(name)
	to.AwaitStatusChanged(cluster, func() {
		apimeta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{
			Type:   clusterv1.ManagedClusterConditionJoined,
			Status: metav1.ConditionTrue, Reason: "ManagedClusterJoined",
		})
		apimeta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{
			Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionFalse, Reason: "ManagedClusterKubeAPIServerUnavailable",
			Message: "the API server does not answer",
		})
	})
}

// losesItsManager leaves the lease of a manager that renews it no more.
func losesItsManager(t *testing.T, hub *hubtest.Hub) {
	t.Helper()
	to := kit.New(t, hub)
	const namespace = "berth-system"
	holder, seconds, renewed := "berth-1_x", int32(15), metav1.NewMicroTime(time.Now().Add(-time.Hour))
	to.MustCreateMissing(
		kit.Namespace(namespace),
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "berth-manager"}, Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &renewed, RenewTime: &renewed,
		}},
	)
}
