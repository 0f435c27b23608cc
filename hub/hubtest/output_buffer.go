package hubtest

import (
	"bytes"
	"sync"
)

// outputBuffer collects what a process prints.
type outputBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer for the process.
func (j *outputBuffer) Write(data []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(data)
}

// String returns everything printed so far.
func (j *outputBuffer) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}
