//go:build !unix

package process

import "time"

// began is about the time when the process started.
var began = time.Now() //nolint:gochecknoglobals // there is one process

// processorTime returns how long this process has run. On an idle machine that is about its CPU time.
func processorTime() (time.Duration, error) { return time.Since(began), nil }
