package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/bench"
)

// change is one change of a fleet.
type change struct {
	name string
	// writes is the number of writes of the change, and write makes one of them.
	writes int
	write  func(ctx context.Context, to client.Client, i int) error
	// affected is the number of placements that the change affects.
	affected affectedCount
}

// changeRounds is how often each change is repeated, on the managed and the open side by turns. The times are summed, so that
// neither a single slow write nor a slow minute of the machine determines the result.
const changeRounds = 5

// measureChurn changes a fleet in several ways. After each change, it repeats the same writes on the open side: the writes of
// the client and the writes of the manager.
func measureChurn(ctx context.Context, t *hubRun) ([]bench.Figure, error) {
	var out []bench.Figure
	steps := []func(ctx context.Context, t *hubRun, round int) (change, error){taintOne, relabelSome, growSet, scoreAll}
	for _, next := range steps {
		var sum changeResult
		var name string
		for round := range changeRounds {
			c, err := next(ctx, t, round)
			if err != nil {
				return nil, err
			}
			name = c.name
			t.logf("%s: %d writes, which affect %d placements %d times", name, c.writes, c.affected.placements, c.affected.times)
			if err := t.measureChange(ctx, c, &sum); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		out = append(out, sum.figures(name)...)
	}
	wrong, err := t.checkDecisions(ctx)
	return append(out, wrong...), err
}

// changeResult contains the time until the last decision was written, the time of the bare writes, and the usage.
type changeResult struct {
	duration, openDuration time.Duration
	usage
	affected affectedCount
	// effective is how many writes changed something.
	effective int
}

// measureChange makes a change on the managed side, and then the same writes on the open side.
func (h *hubRun) measureChange(ctx context.Context, c change, sum *changeResult) error {
	before, err := h.managed.usage(ctx)
	if err != nil {
		return err
	}
	entries, took, err := h.changeManaged(ctx, c)
	if err != nil {
		return err
	}
	after, err := h.managed.usage(ctx)
	if err != nil {
		return err
	}
	sum.effective += effectiveWrites(entries) // before the objects are stored elsewhere
	bare, err := h.replayOnOpen(ctx, c, entries)
	if err != nil {
		return err
	}
	sum.duration, sum.openDuration = sum.duration+took, sum.openDuration+bare
	sum.add(after.since(before))
	sum.affected.placements += c.affected.placements
	sum.affected.times += c.affected.times
	return nil
}

func (c *changeResult) figures(name string) []bench.Figure {
	out := []bench.Figure{
		{
			Name: "last decision, beside the bare writes", Unit: bench.Ratio, Value: c.duration.Seconds() / c.openDuration.Seconds(),
			Detail: fmt.Sprintf("%s / %s", millis(c.duration), millis(c.openDuration)),
		},
		{
			Name: "evaluations, beside those affected", Unit: bench.Ratio, Value: ratio(c.evaluations, float64(c.affected.times)),
			Detail: fmt.Sprintf("%.0f, %d placements affected %d times", c.evaluations, c.affected.placements, c.affected.times),
		},
		{
			Name: "writes per changed decision", Unit: bench.Ratio, Value: ratio(decisionWrites(c.requests), c.changedPlacements),
			Detail: fmt.Sprintf("%.0f, %.0f changes", decisionWrites(c.requests), c.changedPlacements),
		},
		{
			Name: "writes, beside those that changed something", Unit: bench.Ratio, Value: ratio(decisionWrites(c.requests), float64(c.effective)),
			Detail: fmt.Sprintf("%.0f, %d changed something", decisionWrites(c.requests), c.effective),
		},
		{Name: "events per changed decision", Unit: bench.Ratio, Value: ratio(eventWrites(c.requests), c.changedPlacements)},
		{
			Name: "CPU of the manager", Unit: bench.Seconds, Value: c.manager.Seconds(),
			Detail: fmt.Sprintf("%.2f s of the API server", c.server.Seconds()),
		},
	}
	for i := range out {
		out[i].Name = name + ", " + out[i].Name
	}
	return out
}

// ratio is a ratio of counts: 0 for 0/0, and NaN for any other division by 0.
func ratio(count, other float64) float64 {
	switch {
	case count == 0:
		return 0
	case other == 0:
		return math.NaN()
	}
	return count / other
}

// changeManaged makes a change on the managed side. It returns the writes to decisions, and the time until the last of them.
func (h *hubRun) changeManaged(ctx context.Context, c change) (map[objectKey][]objectVersion, time.Duration, error) {
	clients, err := h.managed.clients()
	if err != nil {
		return nil, 0, err
	}
	journal, err := h.managed.recordWrites(ctx)
	if err != nil {
		return nil, 0, err
	}
	began := time.Now()
	err = inParallel(ctx, c.writes, func(ctx context.Context, hand, i int) error { return c.write(ctx, clients[hand], i) })
	took := time.Since(began)
	if err == nil {
		err = h.managed.awaitIdle(ctx)
	}
	entries, last, journalErr := journal.stop()
	if err != nil {
		return nil, 0, err
	}
	return entries, max(took, last.Sub(began)), journalErr
}

// replayOnOpen makes the same writes on the open side, with as many watches. It returns the time until the watches have
// received the last write, as on the managed side.
func (h *hubRun) replayOnOpen(ctx context.Context, c change, entries map[objectKey][]objectVersion) (time.Duration, error) {
	clients, err := h.open.clients()
	if err != nil {
		return 0, err
	}
	chapters, err := h.open.objectLogs(ctx, entries)
	if err != nil {
		return 0, err
	}
	journal, err := h.open.recordWrites(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = inParallel(ctx, c.writes+len(chapters), func(ctx context.Context, hand, i int) error {
		if i < c.writes {
			return c.write(ctx, clients[hand], i)
		}
		return chapters[i-c.writes].replay(ctx, clients[hand])
	})
	took := time.Since(began)
	if err == nil {
		err = h.open.awaitIdle(ctx)
	}
	_, last, journalErr := journal.stop()
	return max(took, last.Sub(began)), errors.Join(err, journalErr)
}

// objectName returns the namespace and name of an object as metadata.
func objectName(object client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// patch changes fields of an object.
func patch(ctx context.Context, to client.Client, object client.Object, fields map[string]any) error {
	data, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("writing a patch: %w", err)
	}
	return to.Patch(ctx, object, client.RawPatch(types.MergePatchType, data))
}
