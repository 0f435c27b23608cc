package inprocess

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// measureCPU returns how much processor time a step takes on one processor, its share of the collector's work included. Other
// processes do not count.
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

// memoryGauge follows how much memory the process has from the system.
type memoryGauge struct{ peak uint64 }

// newMemoryGauge returns a gauge that begins with what is in use, and not with what was.
func newMemoryGauge() *memoryGauge {
	debug.FreeOSMemory()
	return &memoryGauge{}
}

// sample notes what the process has now.
func (g *memoryGauge) sample() {
	all, released := readMetric("/memory/classes/total:bytes"), readMetric("/memory/classes/heap/released:bytes")
	g.peak = max(g.peak, all-released)
}

// heapInUse collects what is not in use, and returns what is.
func heapInUse() uint64 {
	runtime.GC()
	return readMetric("/memory/classes/heap/objects:bytes")
}

func readMetric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		panic(fmt.Sprintf("process: this Go does not tell %s", name))
	}
	return sample[0].Value.Uint64()
}
