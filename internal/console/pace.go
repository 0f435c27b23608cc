package console

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// pace bounds the share of a core that the streams take. One stream computes at a time, and then none for a time that follows from how
// long it took. Under load, open pages are therefore updated later, and nothing else waits for them.
type pace struct {
	clock clock.WithTicker
	// rest is how many times longer than a computation the pause behind it is.
	rest float64
	turn chan struct{}
	// next is when the next stream may compute. The holder of the turn guards it.
	next time.Time
}

func newPace(clock clock.WithTicker, share float64) *pace {
	return &pace{clock: clock, rest: 1/share - 1, turn: make(chan struct{}, 1)}
}

// begin waits for the turn of a stream. The stream calls done when it has computed.
func (p *pace) begin(ctx context.Context) (done func(), err error) {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err() //nolint:wrapcheck // the browser has gone
	}
	if wait := p.next.Sub(p.clock.Now()); wait > 0 {
		timer := p.clock.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C():
		case <-ctx.Done():
			<-p.turn
			return nil, ctx.Err() //nolint:wrapcheck // as above
		}
	}
	began := p.clock.Now()
	return func() {
		now := p.clock.Now()
		p.next = now.Add(time.Duration(float64(now.Sub(began)) * p.rest))
		<-p.turn
	}, nil
}
