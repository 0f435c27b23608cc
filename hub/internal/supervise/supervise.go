// Package supervise runs the parts of the hub.
//
// It owns their order: parts stop one by one, the last started first, each
// within its own grace. It refuses to know what a part does. The invariant: the
// first failure of any part, or its unexpected end, is reported exactly once and
// ends nothing by itself; whoever listens to Failed decides.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

var (
	errEnded  = errors.New("ended by itself")
	errExited = errors.New("gave up; the hub's log says why")
)

// Group is a stack of running parts. Its methods may be called from any
// goroutine, Go and Stop from one only.
type Group struct {
	parts  []*component
	once   sync.Once
	failed chan struct{}
	err    error // set before failed closes
}

type component struct {
	name        string
	stopTimeout time.Duration
	cancel      context.CancelFunc
	done        chan struct{}
	err         error // set before done closes
}

// New returns an empty group.
func New() *Group {
	return &Group{failed: make(chan struct{})}
}

// Failed closes at the first failure.
func (g *Group) Failed() <-chan struct{} { return g.failed }

// Err returns the first failure, and nil while Failed is open.
func (g *Group) Err() error {
	select {
	case <-g.failed:
		return g.err
	default:
		return nil
	}
}

// Fail reports a failure that a part cannot return, such as a call to a fatal
// log function. Only the first failure counts.
func (g *Group) Fail(err error) {
	g.once.Do(func() {
		g.err = err
		close(g.failed)
	})
}

// Go starts a part. Its context carries the values of ctx but not its end: only
// Stop cancels it, so that parts end in order. The part has the given grace to
// return after that.
func (g *Group) Go(ctx context.Context, name string, grace time.Duration, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &component{name: name, stopTimeout: grace, cancel: cancel, done: make(chan struct{}), err: errExited}
	g.parts = append(g.parts, p)
	go func() {
		// Deferred, because a fatal log call ends the goroutine without returning.
		defer func() {
			if ctx.Err() == nil {
				g.Fail(fmt.Errorf("running %s: %w", name, exitCause(p.err)))
			}
			close(p.done)
		}()
		p.err = run(ctx)
	}()
}

// Stop ends all parts, the last started first, and returns what went wrong
// meanwhile. A part that outlives its grace is left behind.
func (g *Group) Stop(ctx context.Context) error {
	var errs []error
	for len(g.parts) > 0 {
		last := len(g.parts) - 1
		errs = append(errs, g.parts[last].stop(ctx))
		g.parts = g.parts[:last]
	}
	return errors.Join(errs...)
}

func (p *component) stop(ctx context.Context) error {
	select {
	case <-p.done: // it failed earlier, and Failed has told so
		p.cancel()
		return nil
	default:
	}
	p.cancel()
	ctx, cancel := context.WithTimeout(ctx, p.stopTimeout)
	defer cancel()
	select {
	case <-p.done:
	case <-ctx.Done():
		return fmt.Errorf("stopping %s: still running after %s", p.name, p.stopTimeout)
	}
	if p.err != nil && !errors.Is(p.err, context.Canceled) {
		return fmt.Errorf("stopping %s: %w", p.name, p.err)
	}
	return nil
}

func exitCause(err error) error {
	if err == nil {
		return errEnded
	}
	return err
}
