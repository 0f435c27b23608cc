package delivery

import (
	"sync"
	"time"

	"github.com/berth-project/berth/internal/delivery/plan"
)

const (
	// shortestHold and longestHold bound the delay before held writes are planned again.
	shortestHold, longestHold = time.Second, 10 * time.Second
)

// pace bounds the bytes of specs that this process writes: as many as the limit at once, then as many per plan.PaceWindow. A hub
// stores whole objects and keeps old ones until compaction, so large changes in a row fill its storage.
type pace struct {
	// limit is in bytes; 0 is no limit.
	limit int64

	mu sync.Mutex // guards the rest
	// available are the bytes that may be written. It is below 0 by at most one spec.
	available float64
	at        time.Time
}

// newPace returns a pace whose limit is not used up.
func newPace(limit int64) *pace { return &pace{limit: limit, available: float64(limit)} }

// take takes the bytes of one spec. Ok is false where it has to wait.
func (p *pace) take(bytes int, now time.Time) (ok bool) {
	if p.limit == 0 {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at.IsZero() {
		p.at = now
	}
	if now.After(p.at) {
		p.available = min(float64(p.limit), p.available+float64(p.limit)*float64(now.Sub(p.at))/float64(plan.PaceWindow))
		p.at = now
	}
	if p.available <= 0 {
		return false
	}
	p.available -= float64(bytes)
	return true
}

// wait returns how long it takes until a number of bytes may be written.
func (p *pace) wait(bytes int) time.Duration {
	if p.limit == 0 {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	missing := (float64(bytes) - p.available) / float64(p.limit) * float64(plan.PaceWindow)
	return min(max(time.Duration(missing), shortestHold), longestHold)
}

// held are the writes of a plan that the pace holds back.
type held struct {
	clusters int
	// wait is when to plan again; 0 without held writes.
	wait time.Duration
}

// admit returns the writes of a pass: at most maxWrites, without specs beyond the pace. Held counts the clusters whose spec waits for it.
func (p *pace) admit(specs *specs, writes []plan.Write, now time.Time) (admitted []plan.Write, h held) {
	bytes := 0
	for i := range writes {
		if len(admitted) == maxWrites {
			break
		}
		if size := specs.size(writes[i]); size > 0 && (h.clusters > 0 || !p.take(size, now)) {
			h.clusters++
			bytes += size
			continue
		}
		admitted = append(admitted, writes[i])
	}
	if h.clusters > 0 {
		h.wait = p.wait(min(bytes, int(p.limit)/2))
	}
	return admitted, h
}
