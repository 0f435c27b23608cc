package process

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// spent returns how much processor time a step takes on one processor, its share of the collector's work included. Other
// processes do not count.
func spent(step func() error) (time.Duration, error) {
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

// gauge follows how much memory the process has from the system.
type gauge struct{ most uint64 }

// newGauge returns a gauge that begins with what is in use, and not with what was.
func newGauge() *gauge {
	debug.FreeOSMemory()
	return &gauge{}
}

// look notes what the process has now.
func (g *gauge) look() {
	all, released := reading("/memory/classes/total:bytes"), reading("/memory/classes/heap/released:bytes")
	g.most = max(g.most, all-released)
}

// heap collects what is not in use, and returns what is.
func heap() uint64 {
	runtime.GC()
	return reading("/memory/classes/heap/objects:bytes")
}

func reading(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		panic(fmt.Sprintf("process: this Go does not tell %s", name))
	}
	return sample[0].Value.Uint64()
}
