package inprocess

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/engine/fleet"
)

var errBoom = errors.New("boom")

func TestMeasure(t *testing.T) {
	var progress strings.Builder
	figures, err := Measure(t.Context(), Size{200, 150}, &progress)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bench.Figure{}
	for _, figure := range figures {
		if !(figure.Value > 0) || math.IsInf(figure.Value, 0) {
			t.Errorf("%s is %v, want a positive number", figure.Name, figure.Value)
		}
		got[figure.Name] = figure
	}
	if shared := got["decisions that the oracle shares"].Value; shared != 3 {
		t.Errorf("the oracle decided %v placements, want the 1st, 10th and 100th", shared)
	}
	if !strings.Contains(progress.String(), "process-200x150: deciding") {
		t.Errorf("progress %q", progress.String())
	}
}

func TestMeasureEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBoom)
	if _, err := Measure(ctx, Size{50, 50}, io.Discard); !errors.Is(err, errBoom) {
		t.Errorf("error %v, want %v", err, errBoom)
	}
}

func TestDifferentSecondDecisionIsAnError(t *testing.T) {
	m := newTestState(t, Size{50, 5})
	for _, p := range m.programs {
		_, m.snapshot = decide(m.snapshot, p)
	}
	if _, err := m.compareWithOracle(); err != nil {
		t.Fatal(err)
	}
	edit := m.snapshot.Edit()
	edit.SetSlices(m.programs[2].Key, []fleet.Slice{{Number: 1, Clusters: []string{"cluster-elsewhere"}}})
	m.snapshot = edit.Snapshot()
	if _, err := m.compareWithOracle(); !errors.Is(err, errDiffers) {
		t.Errorf("error %v, want %v", err, errDiffers)
	}
}

func TestOracleDifferenceIsAnError(t *testing.T) {
	m := newTestState(t, Size{50, 1})
	_, m.snapshot = decide(m.snapshot, m.programs[0])
	m.fleet.Bindings = nil // the oracle reads the objects
	if _, err := m.compareWithOracle(); !errors.Is(err, errDiffers) {
		t.Errorf("error %v, want %v", err, errDiffers)
	}
}

func TestGrowth(t *testing.T) {
	cases := map[string]struct {
		took time.Duration
		want float64
	}{
		"100 times the work in 100 times the time is linear":       {100 * time.Second, 1},
		"100 times the work in 10 times the time is a square root": {10 * time.Second, 0.5},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			small, large := measurement{size: Yardstick(), decide: time.Second}, measurement{size: Largest(), decide: tc.took}
			if got := large.growth(small).Value; math.Abs(got-tc.want) > 1e-9 {
				t.Errorf("growth %v, want %v", got, tc.want)
			}
		})
	}
}

func TestSizes(t *testing.T) {
	var got []string
	for _, size := range Sizes() {
		got = append(got, size.String())
	}
	want := []string{"1000x10000", "10000x10000", "100000x10000", "1000x100000", "10000x100000", "100000x100000"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
}

// newTestState returns the state of a manager before its decisions.
func newTestState(tb testing.TB, size Size) *engineState {
	tb.Helper()
	m, err := newEngineState(size)
	if err != nil {
		tb.Fatal(err)
	}
	m.buildSnapshot()
	if err := m.compilePrograms(); err != nil {
		tb.Fatal(err)
	}
	return m
}
