// Package logfile is the hub's log on disk.
//
// It owns the file and its size. It refuses to know levels and formats, which are
// up to the writers. The invariant: writing never fails because the hub is about
// to be over; what stragglers write after Close is dropped.
package logfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// limit is the size from which a log is put aside at the next start.
const limit = 16 << 20

// File is an open log with an optional second reader. It is safe for concurrent
// use.
type File struct {
	path string

	mu   sync.Mutex
	file *os.File
	also io.Writer
}

// Open appends to the log at path, after renaming a long one to path.1. The writer
// also receives a copy of every line; it may be nil.
func Open(path string, also io.Writer) (*File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > limit {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("putting the old log aside: %w", err)
		}
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	if also == nil {
		also = io.Discard
	}
	return &File{path: path, file: file, also: also}, nil
}

// Path returns where the file is.
func (l *File) Path() string { return l.path }

// Write writes to the file and to the second reader.
func (l *File) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return len(line), nil
	}
	_, err := l.also.Write(line)
	n, fileErr := l.file.Write(line)
	return n, errors.Join(err, fileErr)
}

// Close closes the file.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	file := l.file
	l.file = nil
	if err := file.Close(); err != nil {
		return fmt.Errorf("closing the log: %w", err)
	}
	return nil
}
