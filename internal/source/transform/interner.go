package transform

import "sync"

const (
	// maxStrings bounds the table. When it is full, it is emptied: strings that are shared by then stay shared.
	maxStrings = 1 << 16
	// maxLength is the longest string that is interned: longer strings rarely repeat.
	maxLength = 256
)

// interner stores each string once. Its lock must be held for all methods but lock.
type interner struct {
	mu     sync.Mutex
	values map[string]string
}

func (w *interner) lock()   { w.mu.Lock() }
func (w *interner) unlock() { w.mu.Unlock() }

// intern replaces a string by its stored copy.
func (w *interner) intern(word *string) {
	if *word == "" || len(*word) > maxLength {
		return
	}
	if kept, ok := w.values[*word]; ok {
		*word = kept
		return
	}
	if w.values == nil || len(w.values) >= maxStrings {
		w.values = map[string]string{}
	}
	w.values[*word] = *word
}

func (w *interner) internAll(list []string) {
	for i := range list {
		w.intern(&list[i])
	}
}

// internMap returns a map of stored copies.
func (w *interner) internMap(in map[string]string) map[string]string {
	if in == nil {
		return nil
	}
	out := make(map[string]string, len(in))
	for key, value := range in {
		w.intern(&key)
		w.intern(&value)
		out[key] = value
	}
	return out
}
