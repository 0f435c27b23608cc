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

// change is one thing that happens to a fleet.
type change struct {
	name string
	// writes is how many writes it takes, and write makes one of them.
	writes int
	write  func(ctx context.Context, to client.Client, i int) error
	// concern is whom it concerns.
	concern concern
}

// measureChurn changes a fleet in several ways. After each, the same writes are made on the open side: those of whoever
// caused it, and those of the manager.
func measureChurn(ctx context.Context, t *tale) ([]bench.Figure, error) {
	var out []bench.Figure
	for _, next := range []func(context.Context, *tale) (change, error){taintOne, relabelSome, growSet, scoreAll} {
		c, err := next(ctx, t)
		if err != nil {
			return nil, err
		}
		t.say("%s: %d writes, which concern %d placements %d times", c.name, c.writes, c.concern.placements, c.concern.times)
		figures, err := t.change(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		for _, figure := range figures {
			figure.Name = c.name + ", " + figure.Name
			out = append(out, figure)
		}
	}
	wrong, err := t.wrong(ctx)
	return append(out, wrong...), err
}

// change lets a change happen on the managed side, and then the same writes on the open one.
func (t *tale) change(ctx context.Context, c change) ([]bench.Figure, error) {
	before, err := t.managed.spent(ctx)
	if err != nil {
		return nil, err
	}
	entries, took, err := t.happen(ctx, c)
	if err != nil {
		return nil, err
	}
	after, err := t.managed.spent(ctx)
	if err != nil {
		return nil, err
	}
	bare, err := t.happenAgain(ctx, c, entries)
	if err != nil {
		return nil, err
	}
	used := after.since(before)
	writes := decisionWrites(used.requests)
	return []bench.Figure{
		{
			Name: "last decision, beside the bare writes", Unit: bench.Ratio, Value: took.Seconds() / bare.Seconds(),
			From: fmt.Sprintf("%s / %s", millis(took), millis(bare)),
		},
		{
			Name: "evaluations, beside those concerned", Unit: bench.Ratio, Value: beside(used.evaluations, float64(c.concern.times)),
			From: fmt.Sprintf("%.0f, %d placements concerned %d times", used.evaluations, c.concern.placements, c.concern.times),
		},
		{
			Name: "writes per changed decision", Unit: bench.Ratio, Value: beside(writes, used.changed),
			From: fmt.Sprintf("%.0f, %.0f changes", writes, used.changed),
		},
		{Name: "events per changed decision", Unit: bench.Ratio, Value: beside(eventWrites(used.requests), used.changed)},
		{Name: "CPU of the manager", Unit: bench.Seconds, Value: used.manager.Seconds(), From: fmt.Sprintf("%.2f s of the API server", used.server.Seconds())},
	}, nil
}

// beside is a ratio of counts: nothing beside nothing is 0, something beside nothing no number.
func beside(count, other float64) float64 {
	switch {
	case count == 0:
		return 0
	case other == 0:
		return math.NaN()
	}
	return count / other
}

// happen lets a change happen on the managed side. It returns what was written of decisions, and how long it took until the
// last was.
func (t *tale) happen(ctx context.Context, c change) (map[journalKey][]version, time.Duration, error) {
	clients, err := t.managed.clients()
	if err != nil {
		return nil, 0, err
	}
	journal, err := t.managed.journal(ctx)
	if err != nil {
		return nil, 0, err
	}
	began := time.Now()
	err = inParallel(ctx, c.writes, func(ctx context.Context, hand, i int) error { return c.write(ctx, clients[hand], i) })
	took := time.Since(began)
	if err == nil {
		err = t.managed.idle(ctx)
	}
	entries, last, journalErr := journal.stop()
	if err != nil {
		return nil, 0, err
	}
	return entries, max(took, last.Sub(began)), journalErr
}

// happenAgain makes the same writes on the open side, with as many who watch, and returns how long it took.
func (t *tale) happenAgain(ctx context.Context, c change, entries map[journalKey][]version) (time.Duration, error) {
	clients, err := t.open.clients()
	if err != nil {
		return 0, err
	}
	chapters, err := t.open.chapters(ctx, entries)
	if err != nil {
		return 0, err
	}
	journal, err := t.open.journal(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = inParallel(ctx, c.writes+len(chapters), func(ctx context.Context, hand, i int) error {
		if i < c.writes {
			return c.write(ctx, clients[hand], i)
		}
		return chapters[i-c.writes].write(ctx, clients[hand])
	})
	took := time.Since(began)
	_, _, journalErr := journal.stop()
	return took, errors.Join(err, journalErr)
}

// named is the metadata by which an object is found.
func named(object client.Object) metav1.ObjectMeta {
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
