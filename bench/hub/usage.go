package hub

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the times in /proc/PID/stat, the same on every Linux that Go runs on.
const tick = time.Second / 100

var errFormat = errors.New("not in the format of Linux")

// Usage is what a process has used since it started.
type Usage struct {
	CPU time.Duration
	// Resident is the memory that it has now, in bytes, Peak the most that it ever had.
	Resident, Peak int64
}

// Usage reads what the process has used so far.
func (p *Process) Usage() (Usage, error) {
	dir := fmt.Sprintf("/proc/%d/", p.command.Process.Pid)
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return Usage{}, fmt.Errorf("reading what %s used: %w", p.name, err)
	}
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return Usage{}, fmt.Errorf("reading what %s used: %w", p.name, err)
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
