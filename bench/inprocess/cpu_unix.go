//go:build unix

package inprocess

import (
	"fmt"
	"syscall"
	"time"
)

// processorTime returns the CPU time of this process so far.
func processorTime() (time.Duration, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, fmt.Errorf("reading the CPU time of this process: %w", err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}
