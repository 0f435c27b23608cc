package hubtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/utils/clock"
)

// maxFirst bounds the errors that are kept of one outcome.
const maxFirst = 5

// LoadOptions configures a load.
type LoadOptions struct {
	// InFlight bounds the concurrent requests of each call of Send. A request that would be one more waits.
	InFlight int
	// Timeout bounds a request, with its repetitions.
	Timeout time.Duration
	// Repeats is how often a request is sent again that the webhooks did not review. Pause is the time before each repetition.
	Repeats int
	Pause   time.Duration
}

// Load is clients that send requests at constant rates, and what became of their requests.
type Load struct {
	opts LoadOptions
	// inLifetime calls a function with a context that ends with the load.
	inLifetime func(call func(ctx context.Context))
	cancel     context.CancelFunc
	running    sync.WaitGroup

	mu     sync.Mutex
	counts LoadCounts
}

// LoadCounts are the outcomes of requests.
type LoadCounts struct {
	// Sent is how many requests the API server has responded to.
	Sent int
	// Repeated are the requests that passed when they were sent again, by their first errors.
	Repeated Failures
	// Lost are the requests that should have passed.
	Lost Failures
	// Unreachable are the requests that did not reach the API server.
	Unreachable Failures
}

// Failures are requests with the same outcome.
type Failures struct {
	Count int
	// First are the errors of the first requests.
	First []string
}

func (f *Failures) add(err error) {
	f.Count++
	if len(f.First) < maxFirst {
		f.First = append(f.First, err.Error())
	}
}

// String returns the number of requests and their first errors.
func (f Failures) String() string {
	return fmt.Sprintf("%d such as %s", f.Count, strings.Join(f.First, "\n"))
}

// NewLoad returns a load that sends nothing yet. It ends with the test.
func NewLoad(t testing.TB, opts LoadOptions) *Load {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	out := &Load{opts: opts, cancel: cancel, inLifetime: func(call func(ctx context.Context)) { call(ctx) }}
	t.Cleanup(out.End)
	return out
}

// Send calls a function at a rate a second until the load ends, and counts the outcomes. An error is that of a request that should have
// passed. The calls are numbered.
func (l *Load) Send(rate int, call func(ctx context.Context, number int) error) {
	slots := make(chan struct{}, l.opts.InFlight)
	l.Run(func(ctx context.Context) {
		ticker := clock.RealClock{}.NewTicker(time.Second / time.Duration(rate))
		defer ticker.Stop()
		for number := 0; ; number++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C():
			}
			select {
			case <-ctx.Done():
				return
			case slots <- struct{}{}:
			}
			l.running.Go(func() {
				defer func() { <-slots }()
				l.request(ctx, func(ctx context.Context) error { return call(ctx, number) })
			})
		}
	})
}

// Run runs a function beside the load. It must return when its context ends, which is the end of the load.
func (l *Load) Run(beside func(ctx context.Context)) {
	l.running.Go(func() { l.inLifetime(beside) })
}

// End ends the load, and waits for its last requests.
func (l *Load) End() {
	l.cancel()
	l.running.Wait()
}

// Reset sets all counts to zero.
func (l *Load) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts = LoadCounts{}
}

// Counts returns the outcomes since Reset.
func (l *Load) Counts() LoadCounts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

// request sends a request, and again where the webhooks did not review it, as the clients of an API server do. A load that ends waits for
// its requests.
func (l *Load) request(ctx context.Context, send func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.opts.Timeout)
	defer cancel()
	first := send(ctx)
	err := first
	for again := 0; again < l.opts.Repeats && notReviewed(err); again++ {
		select {
		case <-ctx.Done():
		case <-clock.RealClock{}.After(l.opts.Pause):
		}
		err = send(ctx)
	}
	l.record(first, err)
}

// notReviewed returns whether the webhooks did not respond to a request, or could not check it.
func notReviewed(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "failed calling webhook") || strings.Contains(err.Error(), "could not be checked"))
}

// record counts a request by its first and its last response. A conflict passes: another change came first.
func (l *Load) record(first, last error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case last == nil || apierrors.IsConflict(last):
		l.counts.Sent++
		if notReviewed(first) {
			l.counts.Repeated.add(first)
		}
	case unreachable(last):
		l.counts.Unreachable.add(last)
	default:
		l.counts.Sent++
		l.counts.Lost.add(last)
	}
}

// unreachable returns whether a request did not reach an API server that serves.
func unreachable(err error) bool {
	return utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) ||
		errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "http2: client conn") || starting(err)
}

// starting returns whether the API server itself cannot respond yet.
func starting(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && !strings.Contains(err.Error(), "webhook") &&
		(apierrors.IsServiceUnavailable(err) || apierrors.IsForbidden(err) && strings.Contains(err.Error(), "not yet ready to handle request"))
}
