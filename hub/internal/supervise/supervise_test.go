package supervise

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var errBoom = errors.New("boom")

func TestStopEndsTheLastStartedFirst(t *testing.T) {
	var mu sync.Mutex
	var stopped []string
	group := New()
	for _, name := range []string{"first", "second", "third"} {
		group.Go(t.Context(), name, time.Minute, func(ctx context.Context) error {
			<-ctx.Done()
			mu.Lock()
			defer mu.Unlock()
			stopped = append(stopped, name)
			return ctx.Err()
		})
	}
	if err := group.Stop(t.Context()); err != nil {
		t.Errorf("Stop = %v, want nil", err)
	}
	if diff := cmp.Diff([]string{"third", "second", "first"}, stopped); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if err := group.Err(); err != nil {
		t.Errorf("Err = %v after an orderly stop, want nil", err)
	}
}

func TestTheFirstFailureIsReported(t *testing.T) {
	cases := map[string]struct {
		run  func(context.Context) error
		want error
	}{
		"a component fails":              {run: func(context.Context) error { return errBoom }, want: errBoom},
		"a component ends":               {run: func(context.Context) error { return nil }, want: errEnded},
		"a component ends its goroutine": {run: func(context.Context) error { runtime.Goexit(); return nil }, want: errExited},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			group := New()
			group.Go(t.Context(), "part", time.Minute, c.run)
			<-group.Failed()
			group.Fail(errors.New("later"))
			if err := group.Err(); !errors.Is(err, c.want) {
				t.Errorf("Err = %v, want %v", err, c.want)
			}
			if err := group.Stop(t.Context()); err != nil {
				t.Errorf("Stop = %v, want nil: the failure was reported before", err)
			}
		})
	}
}

// TestAFailureIsReportedOnceWhileItsComponentEnds stops a component that has reported its failure, and has not ended yet.
func TestAFailureIsReportedOnceWhileItsComponentEnds(t *testing.T) {
	done := make(chan struct{})
	part := &component{
		name: "part", stopTimeout: time.Minute, done: done, err: errBoom, reported: true,
		cancel: func() { close(done) }, // it ends after the stop has begun
	}
	if err := part.stop(t.Context()); err != nil {
		t.Errorf("stop = %v, want nil: the failure was reported before", err)
	}
}

func TestComponentsOutliveTheirStartContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	group := New()
	group.Go(ctx, "part", time.Minute, func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	})
	cancel()
	if err := group.Err(); err != nil {
		t.Errorf("Err = %v, want a running component", err)
	}
	if err := group.Stop(t.Context()); err != nil {
		t.Errorf("Stop = %v, want nil", err)
	}
}

func TestStopReportsErrorsAndContinues(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	var ended []string
	group := New()
	group.Go(t.Context(), "fine", time.Minute, func(ctx context.Context) error {
		<-ctx.Done()
		ended = append(ended, "fine")
		return nil
	})
	group.Go(t.Context(), "stuck", time.Millisecond, func(context.Context) error {
		<-release
		return nil
	})
	group.Go(t.Context(), "sore", time.Minute, func(ctx context.Context) error {
		<-ctx.Done()
		return errBoom
	})
	err := group.Stop(t.Context())
	if !errors.Is(err, errBoom) {
		t.Errorf("Stop = %v, want %v", err, errBoom)
	}
	if want := "stopping stuck: still running after 1ms"; !slices.Contains(messages(err), want) {
		t.Errorf("Stop = %v, want %q", err, want)
	}
	if diff := cmp.Diff([]string{"fine"}, ended); diff != "" {
		t.Errorf("ended (-want +got):\n%s", diff)
	}
}

func messages(err error) []string {
	var texts []string
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			texts = append(texts, e.Error())
		}
	}
	return texts
}
