//go:build long

package usage

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	manyPods = 5000
	// residentLimitKiB is the bound of the resident memory of the agent.
	residentLimitKiB = 50 << 10
)

// TestMemoryOfManyPods measures an agent whose member has five thousand pods.
func TestMemoryOfManyPods(t *testing.T) {
	w := newState(t, 0)
	w.createOnMember(node("wide"))
	creating := &errgroup.Group{}
	creating.SetLimit(16)
	for i := range manyPods {
		creating.Go(func() error { return w.toMember.Create(t.Context(), pod(fmt.Sprintf("many-%d", i), "wide", "1m")) })
	}
	kit.NoError(t, creating.Wait())
	w.startAgent()
	w.awaitScores(map[string]int32{byCPU: 0, "podsAvailable": -100})
	time.Sleep(20 * time.Second) // several measurements
	resident := residentKiB(t, w.agent.PID())
	t.Logf("the agent has %d KiB resident beside %d pods", resident, manyPods)
	if resident > residentLimitKiB {
		t.Errorf("the agent has %d KiB resident, want at most %d", resident, residentLimitKiB)
	}
	deleting := &errgroup.Group{}
	deleting.SetLimit(16)
	for i := range manyPods {
		deleting.Go(func() error {
			w.deleteOnMember(pod(fmt.Sprintf("many-%d", i), "wide", "1m"))
			return context.Cause(t.Context())
		})
	}
	if err := deleting.Wait(); err != nil {
		t.Error(err)
	}
}

// residentKiB returns the peak of the resident memory of a process.
func residentKiB(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip("no /proc on this system")
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	out := kit.Must(strconv.Atoi(strings.Fields(rest)[0])).In(t)
	return out
}
