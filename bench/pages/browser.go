package pages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/internal/console"
	"github.com/berth-project/berth/internal/kube/browser"
)

const (
	// browserTimeout is far longer than any step in the browser.
	browserTimeout = time.Minute
	// keyInterval is the time between two keys of a fast typist.
	keyInterval = 80 * time.Millisecond
	// typed is what is typed into the filter: a part of a name, a label, a state.
	typed = "cluster-01 topology.kubernetes.io/region=region-03 healthy"
	// paintedExpression is true when the page has been painted, and the cells are on it.
	paintedExpression = `["first-contentful-paint", "fleet"].every((name) => performance.getEntriesByName(name).length > 0)`
)

var errTrace = errors.New("the trace of the browser is incomplete")

// MeasureBrowser measures the fleet in a real browser: when the first page paints, when a large fleet is drawn, and the script of a frame
// while a user types a filter. The folder has the programs of the build.
func MeasureBrowser(ctx context.Context, bin string, progress io.Writer) (out []bench.Figure, err error) {
	fmt.Fprintln(progress, "browser: the fleet in a window")
	started, err := browser.Start(ctx, filepath.Join(bin, "chromium"))
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the folder
	}
	defer func() { err = errors.Join(err, started.Stop()) }() //nolint:contextcheck // the state of chromedp is in the context of the window
	small, err := newWindow(started, smallFleet)
	if err != nil {
		return nil, err
	}
	defer small.close()
	large, err := newWindow(started, pageClusters)
	if err != nil {
		return nil, err
	}
	defer large.close()
	//nolint:contextcheck // the state of chromedp is in the context of the window
	first, err := small.loadTime(
		`performance.getEntriesByName("first-contentful-paint")[0].startTime`)
	if err != nil {
		return nil, err
	}
	//nolint:contextcheck // the state of chromedp is in the context of the window
	drawn, err := large.loadTime(
		`performance.getEntriesByName("fleet")[0].startTime`)
	if err != nil {
		return nil, err
	}
	frames, err := large.filter() //nolint:contextcheck // the state of chromedp is in the context of the window
	if err != nil {
		return nil, err
	}
	worst := slices.Max(frames)
	slices.Sort(frames)
	return []bench.Figure{
		{Name: "first paint", Unit: bench.Millis, Value: first, Detail: fmt.Sprintf("%d clusters, nothing cached, the middle of %d loads",
			smallFleet, pageRounds)},
		{Name: "fleet drawn", Unit: bench.Millis, Value: drawn, Detail: fmt.Sprintf("%d clusters, nothing cached, the middle of %d loads",
			pageClusters, pageRounds)},
		{
			Name: "script of a frame while filtering", Unit: bench.Millis, Value: worst,
			Detail: fmt.Sprintf("the longest of %d frames, the middle one %.1f ms, %d clusters, a key every %s", len(frames), frames[len(frames)/2],
				pageClusters, keyInterval),
		},
	}, nil
}

// window is the window of a browser with a console of one fleet.
type window struct {
	*browser.Browser

	server *httptest.Server
}

func newWindow(in *browser.Browser, clusters int) (*window, error) {
	fleet, err := newPageFleet(clusters)
	if err != nil {
		return nil, err
	}
	session := console.Session{Reader: fleet, Previewer: fleet, Place: "bench"}
	handler, err := console.New(console.Options{
		Session: func(*http.Request) (console.Session, error) { return session, nil },
		Clock:   clock.RealClock{},
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // it is about the pages
	}
	return &window{Browser: in, server: httptest.NewServer(handler)}, nil
}

// close stops the console. An open page holds a stream, which ends with its connection.
func (w *window) close() {
	w.server.CloseClientConnections()
	w.server.Close()
}

// do runs actions in the window.
func (w *window) do(actions ...chromedp.Action) error {
	ctx, cancel := context.WithTimeout(w.Context, browserTimeout)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		return fmt.Errorf("measuring in the browser: %w", err)
	}
	return nil
}

// load opens the fleet without a cache, and waits until it is drawn.
func (w *window) load() error {
	return w.do(network.SetCacheDisabled(true), chromedp.EmulateViewport(1280, 900), chromedp.Navigate(w.server.URL),
		chromedp.Poll(paintedExpression, nil, chromedp.WithPollingInterval(keyInterval)))
}

// loadTime returns the middle of the milliseconds from the start of a load to a moment of the page. The first load warms the browser.
func (w *window) loadTime(moment string) (float64, error) {
	var all []float64
	for range pageRounds + 1 {
		var at float64
		if err := w.load(); err != nil {
			return 0, err
		}
		if err := w.do(chromedp.Evaluate(moment, &at)); err != nil {
			return 0, err
		}
		all = append(all, at)
	}
	all = all[1:]
	slices.Sort(all)
	return all[len(all)/2], nil
}

// filter types a filter, and returns the milliseconds of script in each frame that has some.
func (w *window) filter() ([]float64, error) {
	if err := w.load(); err != nil {
		return nil, err
	}
	trace, err := w.trace(func() error {
		actions := []chromedp.Action{chromedp.Focus("#filter", chromedp.ByQuery)}
		for _, key := range typed {
			actions = append(actions, chromedp.KeyEvent(string(key)), chromedp.Sleep(keyInterval))
		}
		return w.do(actions...)
	})
	if err != nil {
		return nil, err
	}
	var shown string
	if err := w.do(chromedp.Text("#grid-status", &shown, chromedp.ByQuery)); err != nil {
		return nil, err
	}
	frames := scriptByFrame(trace)
	if len(frames) < len(typed) {
		return nil, fmt.Errorf("%d frames with script for %d keys, the page shows %q: %w", len(frames), len(typed), shown, errTrace)
	}
	return frames, nil
}

// traceEvent is one event of a trace. Times are microseconds.
type traceEvent struct {
	Name string  `json:"name"`
	Pid  int64   `json:"pid"`
	Tid  int64   `json:"tid"`
	At   float64 `json:"ts"`
	Took float64 `json:"dur"`
}

// trace records the main events of the browser while a function runs.
func (w *window) trace(during func() error) ([]traceEvent, error) {
	var out []traceEvent
	var failed error
	complete := make(chan struct{})
	listening, cancel := context.WithCancel(w.Context)
	defer cancel()
	chromedp.ListenTarget(listening, func(event any) {
		switch event := event.(type) {
		case *tracing.EventDataCollected:
			for _, raw := range event.Value {
				var read traceEvent
				failed = errors.Join(failed, json.Unmarshal(raw, &read))
				out = append(out, read)
			}
		case *tracing.EventTracingComplete:
			close(complete)
		}
	})
	config := &tracing.TraceConfig{IncludedCategories: []string{
		"devtools.timeline", "devtools.timeline.frame",
		"disabled-by-default-devtools.timeline", "v8.execute",
	}}
	if err := w.do(tracing.Start().WithTransferMode(tracing.TransferModeReportEvents).WithTraceConfig(config)); err != nil {
		return nil, err
	}
	err := during()
	if err := errors.Join(err, w.do(tracing.End())); err != nil {
		return nil, err
	}
	select {
	case <-complete:
		return out, failed
	case <-time.After(browserTimeout):
		return nil, errTrace
	}
}

// scriptByFrame adds up the milliseconds of script in each frame of the page: from one commit of its thread to the next. Events lie in
// each other, so only the outer ones count.
func scriptByFrame(trace []traceEvent) []float64 {
	slices.SortStableFunc(trace, func(a, b traceEvent) int { return int(a.At - b.At) })
	typing := slices.IndexFunc(trace, func(e traceEvent) bool { return e.Name == "EventDispatch" })
	if typing < 0 {
		return nil
	}
	var out []float64
	var sum, end float64
	for _, event := range trace {
		if event.Pid != trace[typing].Pid || event.Tid != trace[typing].Tid {
			continue
		}
		switch event.Name {
		case "Commit":
			if sum > 0 {
				out = append(out, sum)
			}
			sum = 0
		case "EventDispatch", "FireAnimationFrame", "FunctionCall", "TimerFire", "RunMicrotasks", "EvaluateScript":
			if event.At >= end {
				sum += event.Took / 1000 //nolint:mnd // microseconds
				end = event.At + event.Took
			}
		}
	}
	if sum > 0 {
		out = append(out, sum)
	}
	return out
}
