//go:build slow

package console

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// listen collects what the browser reports as wrong. A request that is refused is not: tests refuse some.
func (b *browser) listen(event any) {
	text := ""
	switch typed := event.(type) {
	case *runtime.EventExceptionThrown:
		text = typed.ExceptionDetails.Error()
	case *log.EventEntryAdded:
		if typed.Entry.Level == log.LevelError && typed.Entry.Source != log.SourceNetwork {
			text = typed.Entry.Text
		}
	}
	if text != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.problems = append(b.problems, text)
	}
}

// checkProblems fails the test if a script failed or the policy forbade something.
func (b *browser) checkProblems(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, problem := range b.problems {
		t.Errorf("the browser reports: %s", problem)
	}
}

// violation is a rule of accessibility that a page breaks.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// checkAccessibility checks a page by the rules of axe for WCAG 2.2 AA. The debugger evaluates the rules, since the policy of the page
// forbids foreign scripts.
func (b *browser) checkAccessibility(t *testing.T, name string) {
	t.Helper()
	path := filepath.Join(root, "bin", "axe.min.js")
	rules, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run make bin/axe.min.js at the root of the repository", err)
	}
	var found string
	const run = `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(r => JSON.stringify(r.violations))`
	b.do(chromedp.Evaluate(string(rules)+"; 0", nil))
	b.do(chromedp.Evaluate(run, &found, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	var violations []violation
	kit.NoError(t, json.Unmarshal([]byte(found), &violations))
	for _, each := range violations {
		var nodes []string
		for _, node := range each.Nodes {
			nodes = append(nodes, fmt.Sprintf("%.200s: %s", node.HTML, node.Summary))
		}
		t.Errorf("%s: %s (%s)\n%s", name, each.Help, each.ID, strings.Join(nodes, "\n"))
	}
}
