package slim

import "sync"

const (
	// maxWords bounds how many words are known. More than that are not known, and the table begins anew: what was shared
	// until then stays shared.
	maxWords = 1 << 16
	// maxWord is the longest word that is looked for: longer ones are said once.
	maxWord = 256
)

// words keeps one copy of each word. Those that many objects say are far fewer than the objects.
type words struct {
	mu    sync.Mutex
	known map[string]string
}

func (w *words) lock()   { w.mu.Lock() }
func (w *words) unlock() { w.mu.Unlock() }

// keep puts the copy that is kept in place of a word. The lock must be held, as for all that follow.
func (w *words) keep(word *string) {
	if *word == "" || len(*word) > maxWord {
		return
	}
	if kept, ok := w.known[*word]; ok {
		*word = kept
		return
	}
	if w.known == nil || len(w.known) >= maxWords {
		w.known = map[string]string{}
	}
	w.known[*word] = *word
}

func (w *words) keepAll(list []string) {
	for i := range list {
		w.keep(&list[i])
	}
}

// keepMap returns a map of the kept words.
func (w *words) keepMap(in map[string]string) map[string]string {
	if in == nil {
		return nil
	}
	out := make(map[string]string, len(in))
	for key, value := range in {
		w.keep(&key)
		w.keep(&value)
		out[key] = value
	}
	return out
}
