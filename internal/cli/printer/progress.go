package printer

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// progressDelay is the time before the first line, progressInterval the time between two lines.
	progressDelay    = time.Second
	progressInterval = 100 * time.Millisecond

	eraseLine = "\r\x1b[K"
	// EraseLineAbove erases the line above the cursor and moves there.
	EraseLineAbove = "\x1b[1A\x1b[2K"
)

// Progress shows a long read on one line of a terminal and erases the line at the end. It prints nothing without a terminal.
// Its methods accept a nil receiver.
type Progress struct {
	out   io.Writer
	clock clock.PassiveClock

	mu            sync.Mutex
	text          string
	started, last time.Time
	shown         bool
	timer         clock.Timer
}

// NewProgress returns a progress line on out; it shows nothing where out is no terminal.
func NewProgress(out io.Writer, clock clock.PassiveClock) *Progress {
	if !IsTerminal(out) {
		return nil
	}
	return &Progress{out: out, clock: clock}
}

// Update sets the number of objects read so far.
func (p *Progress) Update(things string, read int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	if p.started.IsZero() {
		p.started = now
		p.showAfterDelay()
	}
	p.text = fmt.Sprintf("reading %s: %s", things, thousands(read))
	if now.Sub(p.started) >= progressDelay && now.Sub(p.last) >= progressInterval {
		p.show(now)
	}
}

// showAfterDelay prints the line after a second even when no object has arrived.
func (p *Progress) showAfterDelay() {
	delayed, ok := p.clock.(clock.WithDelayedExecution)
	if !ok {
		return
	}
	due := p.started.Add(progressDelay)
	p.timer = delayed.AfterFunc(progressDelay, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.started.IsZero() && !p.shown {
			p.show(due)
		}
	})
}

func (p *Progress) show(now time.Time) {
	fmt.Fprint(p.out, eraseLine+p.text)
	p.shown, p.last = true, now
}

// Done erases the line.
func (p *Progress) Done() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	if p.shown {
		fmt.Fprint(p.out, eraseLine)
	}
	p.started, p.last, p.shown, p.timer = time.Time{}, time.Time{}, false, nil
}

// thousands renders a number with commas: 12,345.
func thousands(number int) string {
	digits := strconv.Itoa(number)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
