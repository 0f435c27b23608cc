package hub

import (
	"errors"
	"io"
	"sync"

	"gopkg.in/natefinch/lumberjack.v2"
)

// maxLogMegabytes is the size at which the log file is rotated. One rotated file is kept.
const maxLogMegabytes = 16

// logWriter writes the log of the hub to its file and to the copy. It is safe for concurrent use. It drops lines that are
// written after Close: lumberjack would open the file again, in a folder that may belong to the next hub.
type logWriter struct {
	mu     sync.Mutex
	file   *lumberjack.Logger
	copy   io.Writer
	closed bool
}

func newLogWriter(path string, tee io.Writer) *logWriter {
	if tee == nil {
		tee = io.Discard
	}
	return &logWriter{file: &lumberjack.Logger{Filename: path, MaxSize: maxLogMegabytes, MaxBackups: 1}, copy: tee}
}

// Write implements io.Writer.
func (l *logWriter) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return len(line), nil
	}
	_, err := l.copy.Write(line)
	n, fileErr := l.file.Write(line)
	return n, errors.Join(err, fileErr)
}

// Close closes the file.
func (l *logWriter) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return l.file.Close()
}
