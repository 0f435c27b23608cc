package process

import (
	"bytes"
	"sync"
)

// Output stores what a process prints, and finds one line in it. It is safe for concurrent use.
type Output struct {
	limit  int
	prefix []byte
	line   chan string

	mu    sync.Mutex
	text  []byte
	found bool
}

// NewOutput returns an output that stores the last limit bytes, or all bytes if limit is 0. It looks for the first line that
// contains the prefix.
func NewOutput(limit int, prefix string) *Output {
	return &Output{limit: limit, prefix: []byte(prefix), line: make(chan string, 1), found: prefix == ""}
}

// Line receives the rest of the line behind the prefix, once the line is complete.
func (o *Output) Line() <-chan string { return o.line }

// Write implements io.Writer.
func (o *Output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, data...)
	if o.limit > 0 {
		o.text = o.text[max(0, len(o.text)-o.limit):]
	}
	if o.found {
		return len(data), nil
	}
	if _, rest, ok := bytes.Cut(o.text, o.prefix); ok {
		if line, _, complete := bytes.Cut(rest, []byte("\n")); complete {
			o.found = true
			o.line <- string(line)
		}
	}
	return len(data), nil
}

// String returns the stored text.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}
