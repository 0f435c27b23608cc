package console

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// story is what a user does to get an answer: clicks, and words that are typed.
type story struct {
	*browser

	clicks, words int
}

func (s *story) click(selector string) {
	s.t.Helper()
	s.clicks++
	s.do(chromedp.Click(selector, chromedp.ByQuery))
}

func (s *story) write(selector, text string) {
	s.t.Helper()
	s.words++
	s.do(chromedp.SendKeys(selector, text, chromedp.ByQuery))
}

// TestStories plays the main story of each page as a new user would: from the first page, by what is visible alone. The log has how many
// clicks and words, and how many seconds of the browser, each takes.
func TestStories(t *testing.T) {
	hub := newHub(t)
	k := newRollout(t, hub)
	k.report("eu-1", "")
	k.report("us-1", "no such image")
	address, _ := serve(t, "--kubeconfig", hub.Kubeconfig())
	b := open(t, address)
	for _, each := range []struct {
		name string
		play func(s *story)
	}{
		{"fleet: which clusters of eu does the placement shop/orders have?", func(s *story) {
			s.write("#filter", "region=eu")
			s.clicks += 2 // the list and its entry
			s.do(chromedp.SetValue("#colour", "placement:shop/orders", chromedp.ByQuery), chromedp.Evaluate(`document.querySelector("#colour").dispatchEvent(new Event("change"))`, nil))
			s.waitText("4 of 12 clusters match")
			s.wait("the colours", `document.querySelector("#legend").innerText.includes("Selected 3")`)
		}},
		{"cluster: who put what on us-1, and is its agent alive?", func(s *story) {
			s.words++
			// Without its character, which a browser leaves out where a page has used the key.
			s.do(input.DispatchKeyEvent(input.KeyRawDown).WithKey("/").WithCode("Slash"), input.DispatchKeyEvent(input.KeyUp).WithKey("/").WithCode("Slash"))
			s.wait("the focus", `document.activeElement.id === "search"`)
			s.do(chromedp.KeyEvent("us-1"))
			s.wait("the match", `document.querySelector("#suggestions li")`)
			s.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
			s.waitText("Who put what on it")
			s.waitText("no such image")
		}},
		{"placement: why not us-1, and what would select it?", func(s *story) {
			s.click(`nav a[href="/placements"]`)
			s.waitText("data/training")
			s.click(`a[href="/placements/data/training"]`)
			s.waitText("From all clusters to the selected")
			s.write(`input[name=cluster]`, "us-1\r")
			s.waitText("as a run has proved")
		}},
		{"preview: what moves if the region eu fails?", func(s *story) {
			s.click(`nav a[href="/preview"]`)
			s.wait("the values", `document.querySelector("#label-value option[value=eu]")`)
			s.clicks += 2 // the list and its entry
			s.do(chromedp.SetValue("#label-value", "eu", chromedp.ByQuery))
			s.click("#fail")
			s.waitText("taint drained:NoSelect")
		}},
		{"rollout: what fails, where, and how was it before?", func(s *story) {
			s.click(`nav a[href="/rollouts"]`)
			s.waitText("ops/tools")
			s.click(`a[href="/rollouts/ops/tools"]`)
			s.waitText("ConfigMap default/tools")
			s.clicks++ // a drag
			s.do(chromedp.Focus("#moment", chromedp.ByQuery), chromedp.KeyEvent(kb.Home))
			s.wait("the first moment", `document.querySelector("#moment-shown").innerText.startsWith("1 of")`)
		}},
		{"hub: is it well?", func(s *story) {
			s.click(`nav a[href="/hub"]`)
			s.waitText("The hub is well")
		}},
	} {
		b.visit("/")
		b.wait("the grid", `document.querySelector("#legend li")`)
		s, began := &story{browser: b}, time.Now()
		each.play(s)
		t.Logf("%s %d clicks, %d words, %.1f s", each.name, s.clicks, s.words, time.Since(began).Seconds())
	}
	b.checkProblems(t)
}
