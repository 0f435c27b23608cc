// Package supervise runs the components of the hub.
//
// It owns their order: components stop one by one, the last started first, each within its own timeout. The invariant: the
// first failure of a component, or its unexpected end, is reported exactly once and ends nothing by itself. The receiver of
// Failed decides.
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
	errExited = errors.New("ended with a fatal error; see the hub's log")
)

// Group is a stack of running components. Its methods may be called from any goroutine, Go and Stop from one only.
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
	reported    bool  // set before done closes: Failed has reported its end
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

// Fail reports a failure that a component cannot return, such as a fatal log call. Only the first failure counts.
func (g *Group) Fail(err error) {
	g.once.Do(func() {
		g.err = err
		close(g.failed)
	})
}

// Go starts a component. Its context has the values of ctx but not its end. Only Stop cancels it, so that components stop in
// order. The component then has a timeout to return.
func (g *Group) Go(ctx context.Context, name string, grace time.Duration, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &component{name: name, stopTimeout: grace, cancel: cancel, done: make(chan struct{}), err: errExited}
	g.parts = append(g.parts, p)
	go func() {
		// Deferred, because a fatal log call ends the goroutine without returning.
		defer func() {
			if ctx.Err() == nil {
				p.reported = true
				g.Fail(fmt.Errorf("running %s: %w", name, exitCause(p.err)))
			}
			close(p.done)
		}()
		p.err = run(ctx)
	}()
}

// Stop stops all components, the last started first, and returns their errors. It abandons a component that exceeds its
// timeout.
func (g *Group) Stop(ctx context.Context) error {
	var errs []error
	for len(g.parts) > 0 {
		last := len(g.parts) - 1
		errs = append(errs, g.parts[last].stop(ctx))
		g.parts = g.parts[:last]
	}
	return errors.Join(errs...)
}

func (c *component) stop(ctx context.Context) error {
	c.cancel()
	ctx, cancel := context.WithTimeout(ctx, c.stopTimeout)
	defer cancel()
	if !c.awaitEnd(ctx) {
		return fmt.Errorf("stopping %s: still running after %s", c.name, c.stopTimeout)
	}
	if c.err != nil && !c.reported && !errors.Is(c.err, context.Canceled) {
		return fmt.Errorf("stopping %s: %w", c.name, c.err)
	}
	return nil
}

// awaitEnd waits until the component has ended, and returns whether it has when ctx ends.
func (c *component) awaitEnd(ctx context.Context) bool {
	select {
	case <-c.done:
		return true
	case <-ctx.Done():
	}
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func exitCause(err error) error {
	if err == nil {
		return errEnded
	}
	return err
}
