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

func (i *interner) lock()   { i.mu.Lock() }
func (i *interner) unlock() { i.mu.Unlock() }

// intern replaces a string by its stored copy.
func (i *interner) intern(word *string) {
	if *word == "" || len(*word) > maxLength {
		return
	}
	if kept, ok := i.values[*word]; ok {
		*word = kept
		return
	}
	if i.values == nil || len(i.values) >= maxStrings {
		i.values = map[string]string{}
	}
	i.values[*word] = *word
}

func (i *interner) internAll(list []string) {
	for n := range list {
		i.intern(&list[n])
	}
}

// internMap returns a map of stored copies.
func (i *interner) internMap(in map[string]string) map[string]string {
	if in == nil {
		return nil
	}
	out := make(map[string]string, len(in))
	for key, value := range in {
		i.intern(&key)
		i.intern(&value)
		out[key] = value
	}
	return out
}
