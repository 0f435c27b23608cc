package run

import (
	"context"
	"errors"
	"time"
)

// atRate calls do at a rate per second until stop is called.
func atRate(ctx context.Context, rate int, do func(ctx context.Context, hand, n int) error) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	ended := make(chan error, 1)
	go func() {
		ended <- inParallel(ctx, 1<<30, func(ctx context.Context, hand, n int) error {
			select {
			case <-ticker.C:
				return do(context.WithoutCancel(ctx), hand, n)
			case <-ctx.Done():
				return nil
			}
		})
	}()
	return func() error {
		cancel()
		ticker.Stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
}
