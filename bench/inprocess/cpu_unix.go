//go:build unix

package inprocess

import (
	"fmt"
	"syscall"
	"time"
)

// processorTime returns what this process has used so far.
func processorTime() (time.Duration, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, fmt.Errorf("reading what this process used: %w", err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}
