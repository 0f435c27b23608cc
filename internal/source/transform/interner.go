package transform

import "sync"

const (
	// maxStrings bounds how many words are known. More than that are not known, and the table begins anew: what was shared
	// until then stays shared.
	maxStrings = 1 << 16
	// maxLength is the longest word that is looked for: longer ones are said once.
	maxLength = 256
)

// interner keeps one copy of each word. Those that many objects say are far fewer than the objects.
type interner struct {
	mu     sync.Mutex
	values map[string]string
}

func (w *interner) lock()   { w.mu.Lock() }
func (w *interner) unlock() { w.mu.Unlock() }

// intern puts the copy that is kept in place of a word. The lock must be held, as for all that follow.
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

// internMap returns a map of the kept words.
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
