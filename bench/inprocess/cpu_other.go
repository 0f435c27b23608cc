//go:build !unix

package process

import "time"

// began is when the process started, roughly.
var began = time.Now() //nolint:gochecknoglobals // there is one process

// processorTime returns how long this process runs: on an idle machine that is what it used.
func processorTime() (time.Duration, error) { return time.Since(began), nil }
