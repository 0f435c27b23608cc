package brake

import "time"

// window has what happened within the last span, each key once.
type window[K comparable] struct {
	last  map[K]time.Time
	queue []occurrence[K]
}

type occurrence[K comparable] struct {
	key K
	at  time.Time
}

// note records that something happens now, and drops what happened before the span.
func (w *window[K]) note(key K, now time.Time) {
	w.drop(now)
	if w.last == nil {
		w.last = map[K]time.Time{}
	}
	if at, known := w.last[key]; known && at.Equal(now) {
		return
	}
	w.last[key] = now
	w.queue = append(w.queue, occurrence[K]{key, now})
}

func (w *window[K]) drop(now time.Time) {
	n := 0
	for ; n < len(w.queue) && now.Sub(w.queue[n].at) >= span; n++ {
		if old := w.queue[n]; w.last[old.key].Equal(old.at) {
			delete(w.last, old.key)
		}
	}
	w.queue = w.queue[n:]
}

func (w *window[K]) count() int { return len(w.last) }
