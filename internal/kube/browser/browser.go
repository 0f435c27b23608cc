// Package browser starts the browser of the tests and benchmarks: the Chromium that `make bin/chromium` unpacks, driven by chromedp.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
	"k8s.io/apimachinery/pkg/util/wait"
)

// The processes of a browser that has ended may write into its folder a moment longer: removing it is repeated every removeInterval.
const removeInterval, removeTimeout = 100 * time.Millisecond, 30 * time.Second

// startTries is how often starting a browser is tried.
const startTries = 3

// ErrNotFound is returned by Start where the folder has no browser.
var ErrNotFound = errors.New("there is no browser; run make bin/chromium at the root of the repository")

// Browser is a running browser with one window.
type Browser struct {
	// Context is the context for chromedp.Run. The browser lives until Stop.
	Context context.Context //nolint:containedctx // chromedp has its state in it

	home   string
	cancel []context.CancelFunc
}

// Start starts the browser in a folder of unpacked packages. Its files are in a temporary folder. On a busy machine a browser sometimes
// ends as it starts, so starting is tried again. It returns ErrNotFound for a folder without a browser.
func Start(ctx context.Context, folder string) (*Browser, error) {
	program := find(folder)
	if program == "" {
		return nil, fmt.Errorf("starting a browser from %s: %w", folder, ErrNotFound)
	}
	var failed error
	for range startTries {
		out, err := start(ctx, folder, program)
		if err == nil {
			return out, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// start starts the browser once.
func start(ctx context.Context, folder, program string) (*Browser, error) {
	home, err := os.MkdirTemp("", "berth-browser-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the browser: %w", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox,
		chromedp.UserDataDir(filepath.Join(home, "data")),
		chromedp.Env("LD_LIBRARY_PATH="+strings.Join(libraries(folder), ":"), "HOME="+home, "XDG_CACHE_HOME="+home),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("font-render-hinting", "none"))
	allocated, stop := chromedp.NewExecAllocator(context.WithoutCancel(ctx), options...)
	window, closeWindow := chromedp.NewContext(allocated)
	out := &Browser{Context: window, home: home, cancel: []context.CancelFunc{closeWindow, stop}}
	if err := chromedp.Run(window); err != nil { // the browser lives as long as the first context
		return nil, errors.Join(fmt.Errorf("starting the browser: %w", err),
			out.Stop()) //nolint:contextcheck // the state of chromedp is in the context of the window
	}
	return out, nil
}

// Stop ends the browser and removes its files.
func (b *Browser) Stop() error {
	for _, cancel := range b.cancel {
		cancel()
	}
	if running := chromedp.FromContext(b.Context); running != nil && running.Allocator != nil {
		running.Allocator.Wait()
	}
	var failed error
	err := wait.PollUntilContextTimeout(context.WithoutCancel(b.Context), removeInterval, removeTimeout, true,
		func(context.Context) (bool, error) {
			failed = os.RemoveAll(b.home)
			return failed == nil, nil
		})
	if err != nil {
		return fmt.Errorf("removing the folder of the browser: %w", errors.Join(err, failed))
	}
	return nil
}

// find returns the program in a folder of unpacked packages. It is empty for a folder without a browser.
func find(folder string) string {
	for _, name := range []string{
		"usr/lib/chromium/chromium-headless-shell", "usr/lib/chromium/headless_shell",
		"usr/bin/chromium-headless-shell",
	} {
		name = filepath.Join(folder, name)
		if info, err := os.Stat(name); err == nil && !info.IsDir() {
			return name
		}
	}
	return ""
}

// libraries returns the folders of libraries in a folder of unpacked packages.
func libraries(folder string) []string {
	var out []string
	for _, pattern := range []string{"usr/lib/*-linux-gnu*", "lib/*-linux-gnu*", "usr/lib/*-linux-gnu*/pulseaudio", "usr/lib/chromium"} {
		more, _ := filepath.Glob(filepath.Join(folder, pattern)) // the patterns are well-formed
		out = append(out, more...)
	}
	return out
}
