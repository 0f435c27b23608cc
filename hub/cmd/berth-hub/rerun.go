package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/berth-project/berth/internal/manager"
)

// runManager runs the manager until ctx ends. When a manager loses its lease, it starts the next manager at the same addresses,
// which waits for the lease. The API server keeps running. After a lost lease, it also restarts a manager that fails, because
// that hub has worked before.
func runManager(ctx context.Context, options manager.Options) error {
	views, webhooks := options.Views.Listener, options.Webhooks.Listener
	defer closeAll(views, webhooks)
	options.OnRegistered = sync.OnceFunc(options.OnRegistered)
	for lost := false; ; {
		err := runManagerOnce(ctx, options, views, webhooks)
		lost = lost || errors.Is(err, manager.ErrLeaseLost)
		if !lost || ctx.Err() != nil {
			return err
		}
		ctrl.Log.WithName("lease").Info("the manager has ended, and starts again", "after", options.RetryPeriod, "cause", fmt.Sprint(err))
		select {
		case <-ctx.Done():
			return nil
		case <-clock.RealClock{}.After(options.RetryPeriod):
		}
	}
}

// runManagerOnce runs one manager on duplicates of the listeners, and closes the duplicates. Connections wait for the next
// manager.
func runManagerOnce(ctx context.Context, options manager.Options, views, webhooks net.Listener) (err error) {
	if options.Views.Listener, err = duplicate(views); err != nil {
		return err
	}
	defer closeAll(options.Views.Listener)
	if options.Webhooks.Listener, err = duplicate(webhooks); err != nil {
		return err
	}
	defer closeAll(options.Webhooks.Listener)
	return manager.Run(ctx, options)
}

// duplicate returns another listener on the same socket, and nil for nil.
func duplicate(listener net.Listener) (net.Listener, error) {
	socket, ok := listener.(*net.TCPListener)
	if !ok {
		return listener, nil
	}
	file, err := socket.File()
	if err != nil {
		return nil, fmt.Errorf("duplicating the socket of %s: %w", socket.Addr(), err)
	}
	defer file.Close() //nolint:errcheck // it is a copy that nothing was written to
	out, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("listening on %s again: %w", socket.Addr(), err)
	}
	return out, nil
}

// closeAll closes listeners. A listener may be closed already, or nil.
func closeAll(listeners ...net.Listener) {
	for _, listener := range listeners {
		if listener != nil {
			_ = listener.Close()
		}
	}
}
