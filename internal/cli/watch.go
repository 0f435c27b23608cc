package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
)

// breath is how long changes are gathered before what they changed is printed.
const breath = 100 * time.Millisecond

// follow prints the rows, and from then on each that changes, until the user interrupts it: then all is well. A row that
// is gone is printed once more, with a remark in the place of its first column.
func (g *get) follow(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := g.locate(); err != nil {
		return err
	}
	h, err := g.world.open()
	if err != nil {
		return err
	}
	m := newMirror(h, g.reach())
	at, err := m.fill(ctx)
	if ctx.Err() != nil {
		return nil // interrupted
	}
	if err != nil {
		return err
	}
	h.progress = nil // from now on there is no waiting
	failed := make(chan error, len(m.reach.kinds))
	for _, k := range m.reach.kinds {
		go func() { failed <- m.follow(ctx, k, at[k.kind]) }()
	}
	return g.relate(ctx, m, failed)
}

// relate prints what changes in a mirror until the context ends or following fails.
func (g *get) relate(ctx context.Context, m *mirror, failed <-chan error) error {
	shown := newTeller(g)
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-m.changed:
		}
		bundle, err := m.bundle()
		if err != nil {
			return err
		}
		if err := shown.tell(g.chosen(bundle)); err != nil {
			return err
		}
		pause(ctx, breath)
	}
}

// teller prints rows that are new or changed.
type teller struct {
	get   *get
	out   bytes.Buffer
	table *table
	known map[string]glanceRow
	begun bool
}

func newTeller(g *get) *teller {
	t := &teller{get: g, known: map[string]glanceRow{}}
	t.table = g.table(&t.out)
	return t
}

// key tells rows apart.
func (r glanceRow) key() string { return r.namespace + "/" + r.name + " " + r.path }

// tell prints what differs from what was told before.
func (t *teller) tell(rows []glanceRow) error {
	var changed []glanceRow
	there := make(map[string]glanceRow, len(rows))
	for _, row := range rows {
		there[row.key()] = row
		if before, known := t.known[row.key()]; !known || !equality.Semantic.DeepEqual(before.fact, row.fact) {
			changed = append(changed, row)
		}
	}
	changed = append(changed, t.gone(there)...)
	t.known = there
	if len(changed) == 0 {
		return nil
	}
	if err := t.render(changed); err != nil {
		return err
	}
	_, err := t.get.world.streams.Out.Write(t.out.Bytes())
	t.out.Reset()
	if err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// gone returns the rows that were told of and are no more, by name.
func (t *teller) gone(there map[string]glanceRow) []glanceRow {
	var out []glanceRow
	for _, key := range sortedKeys(t.known) {
		if _, still := there[key]; still {
			continue
		}
		row := t.known[key]
		cells := make([]cell, len(row.cells))
		for i := range cells {
			cells[i] = cell{none, faint}
		}
		cells[0] = cell{"gone", faint}
		row.cells = cells
		out = append(out, row)
	}
	return out
}

func (t *teller) render(rows []glanceRow) error {
	if t.get.output == "name" {
		return t.get.write(&t.out, rows)
	}
	if !t.begun {
		t.get.header(t.table)
		t.begun = true
	}
	t.get.fill(t.table, rows)
	return t.table.Flush()
}
