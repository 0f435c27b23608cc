package inprocess

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// measureCPU returns the CPU time of a step on one processor, with its share of garbage collection. Other processes do not
// count.
func measureCPU(step func() error) (time.Duration, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	before, err := processorTime()
	if err != nil {
		return 0, err
	}
	if err := step(); err != nil {
		return 0, err
	}
	after, err := processorTime()
	return after - before, err
}

// memoryGauge records the peak of the memory that the process has from the system.
type memoryGauge struct{ peak uint64 }

// newMemoryGauge returns freed memory to the system, so that the peak excludes earlier use.
func newMemoryGauge() *memoryGauge {
	debug.FreeOSMemory()
	return &memoryGauge{}
}

// sample updates the peak.
func (g *memoryGauge) sample() {
	all, released := readMetric("/memory/classes/total:bytes"), readMetric("/memory/classes/heap/released:bytes")
	g.peak = max(g.peak, all-released)
}

// heapInUse collects garbage and returns the heap in use.
func heapInUse() uint64 {
	runtime.GC()
	return readMetric("/memory/classes/heap/objects:bytes")
}

func readMetric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		panic(fmt.Sprintf("process: this version of Go lacks the metric %s", name))
	}
	return sample[0].Value.Uint64()
}
