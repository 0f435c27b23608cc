//go:build slow

// Package console tests the console in a real browser: on files, and on a real hub with its manager.
package console

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/cli"
	chromium "github.com/berth-project/berth/internal/kube/browser"
)

const (
	root = "../../.."
	// limit is far longer than any wait of the tests.
	limit = 30 * time.Second
	// pictures names a folder for screenshots; empty for none.
	pictures = "BERTH_SCREENSHOTS"
)

// serve runs `kubectl berth console` and returns the URL that it prints. Stop ends it.
func serve(t *testing.T, args ...string) (address string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var out kit.Buffer
	ended := make(chan int, 1)
	go func() {
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}
		ended <- cli.Run(ctx, append([]string{"console"}, args...), streams, clock.RealClock{})
	}()
	stopped := sync.OnceFunc(func() {
		cancel()
		if code := <-ended; code != cli.ExitOK {
			t.Errorf("the console ended with exit code %d:\n%s", code, out.String())
		}
	})
	t.Cleanup(stopped)
	printed := regexp.MustCompile(`http://127\.0\.0\.1:\d+/login\?secret=\S+`)
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if found := printed.FindString(out.String()); found != "" {
			return found, stopped
		}
		select {
		case code := <-ended:
			ended <- code
			t.Fatalf("the console ended with exit code %d:\n%s", code, out.String())
		default:
		}
	}
	t.Fatalf("the console printed no URL:\n%s", out.String())
	return "", nil
}

// browser is a window of Chromium.
type browser struct {
	ctx context.Context // chromedp has its state in it
	t   *testing.T
	// address is that of the console, without a path.
	address string
	mu      sync.Mutex
	// problems are what the browser reports: errors of scripts, and what the policy forbids.
	problems []string
}

// open opens a window. The test is skipped on a machine without the browser.
func open(t *testing.T, address string) *browser {
	t.Helper()
	folder := kit.Must(filepath.Abs(filepath.Join(root, "bin", "chromium"))).In(t)
	started, err := chromium.Start(t.Context(), folder)
	if errors.Is(err, chromium.ErrNotFound) {
		t.Skipf("NO BROWSER RUNS ON THIS MACHINE: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(); err != nil {
			t.Error(err)
		}
	})
	ctx := started.Context
	base, _, _ := strings.Cut(address, "/login")
	b := &browser{ctx: ctx, t: t, address: base}
	chromedp.ListenTarget(ctx, b.listen)
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(address), chromedp.WaitVisible("#grid", chromedp.ByQuery))
	return b
}

// do runs actions, and fails the test if one fails. A live page may replace a part between the moment an action finds a node of it and the
// moment it uses the node: the actions are then run again, as a user would click again.
func (b *browser) do(actions ...chromedp.Action) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	err := chromedp.Run(ctx, actions...)
	for err != nil && ctx.Err() == nil && strings.Contains(err.Error(), "node with given id") {
		err = chromedp.Run(ctx, actions...)
	}
	if err != nil {
		b.t.Fatalf("%v; the browser reports %q", err, b.problems)
	}
}

// visit opens a page.
func (b *browser) visit(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.address+path), chromedp.WaitVisible("main", chromedp.ByQuery))
}

// text returns the text of the page.
func (b *browser) text() string {
	b.t.Helper()
	var out string
	b.do(chromedp.Text("body", &out, chromedp.ByQuery))
	return out
}

// evaluate returns the value of an expression.
func evaluate[T any](b *browser, expression string) T {
	b.t.Helper()
	var out T
	b.do(chromedp.Evaluate(expression, &out))
	return out
}

// wait waits until an expression is true.
func (b *browser) wait(what, expression string) {
	b.t.Helper()
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var yes bool
		// It fails while the browser goes to another page.
		if err := chromedp.Run(b.ctx, chromedp.Evaluate("Boolean("+expression+")", &yes)); err == nil && yes {
			return
		}
	}
	b.t.Fatalf("%s did not happen:\n%s", what, b.text())
}

// waitText waits until the page has a text.
func (b *browser) waitText(text string) {
	b.t.Helper()
	b.wait(fmt.Sprintf("the text %q", text), fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// look sets the width and the colours of the window.
func (b *browser) look(width int64, scheme string) {
	b.t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}
	b.do(chromedp.EmulateViewport(width, 900), emulation.SetEmulatedMedia().WithFeatures(features))
}

// picture stores a screenshot of the whole page, where a developer wants them.
func (b *browser) picture(name string) {
	b.t.Helper()
	folder := os.Getenv(pictures)
	if folder == "" {
		return
	}
	var image []byte
	b.do(chromedp.FullScreenshot(&image, 100))
	kit.NoError(b.t, os.WriteFile(filepath.Join(folder, name+".png"), image, 0o600))
}
