package hubtest

import (
	"bytes"
	"sync"
)

// journal collects what a process prints.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer for the process.
func (j *journal) Write(data []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(data)
}

// String returns everything printed so far.
func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}
