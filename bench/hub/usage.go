package hub

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/berth-project/berth/internal/kube/process"
)

// maxLogBytes is how much of the output of a process is kept.
const maxLogBytes = 16 << 10

// tick is the unit of the times in /proc/PID/stat, the same on every Linux that Go runs on.
const tick = time.Second / 100

var errFormat = errors.New("not in the format of Linux")

// Process is a child process. It reports its usage of CPU and memory.
type Process struct{ *process.Process }

// start starts a program. Its output has the first line that contains the prefix.
func start(ctx context.Context, prefix, program string, args ...string) (*Process, error) {
	p, err := process.Start(ctx, process.NewOutput(maxLogBytes, prefix), program, args...)
	if err != nil {
		return nil, err
	}
	return &Process{p}, nil
}

// Usage is the usage of CPU and memory by a process since its start.
type Usage struct {
	CPU time.Duration
	// Resident is the current memory in bytes, Peak the largest so far.
	Resident, Peak int64
}

// Usage reads the usage so far.
func (p *Process) Usage() (Usage, error) { return usageOf(p.PID()) }

func usageOf(pid int) (Usage, error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return Usage{}, fmt.Errorf("reading the usage of process %d: %w", pid, err)
	}
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return Usage{}, fmt.Errorf("reading the usage of process %d: %w", pid, err)
	}
	out := Usage{}
	if out.CPU, err = cpu(string(stat)); err != nil {
		return Usage{}, err
	}
	var residentErr, peakErr error
	out.Resident, residentErr = memory(string(status), "VmRSS:")
	out.Peak, peakErr = memory(string(status), "VmHWM:")
	return out, errors.Join(residentErr, peakErr)
}

// cpu reads user and system time from /proc/PID/stat: the 14th and 15th fields. The second is the program's name, which
// may hold spaces and parentheses.
func cpu(stat string) (time.Duration, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("reading CPU times from %q: %w", stat, errFormat)
	}
	user, userErr := strconv.ParseInt(fields[11], 10, 64)
	system, systemErr := strconv.ParseInt(fields[12], 10, 64)
	if err := errors.Join(userErr, systemErr); err != nil {
		return 0, fmt.Errorf("reading CPU times: %w", err)
	}
	return time.Duration(user+system) * tick, nil
}

// memory reads a line of /proc/PID/status.
func memory(status, line string) (int64, error) {
	_, rest, found := strings.Cut(status, line)
	fields := strings.Fields(rest)
	if !found || len(fields) < 2 || fields[1] != "kB" {
		return 0, fmt.Errorf("reading %s: %w", line, errFormat)
	}
	kib, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", line, err)
	}
	return kib << 10, nil
}
