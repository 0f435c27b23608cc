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

// batchDelay is how long changes are collected before they are printed.
const batchDelay = 100 * time.Millisecond

// watchRows prints the rows, then every row that changes, until the user interrupts it. The row of a deleted object is
// printed once more, as "gone".
func (g *getOptions) watchRows(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := g.resolveNamespace(); err != nil {
		return err
	}
	h, err := g.source.connect()
	if err != nil {
		return err
	}
	m := newWatchCache(h, g.scope())
	at, err := m.listAll(ctx)
	if ctx.Err() != nil {
		return nil // interrupted
	}
	if err != nil {
		return err
	}
	h.progress = nil // from now on there is no waiting
	failed := make(chan error, len(m.scope.kinds))
	for _, k := range m.scope.kinds {
		go func() { failed <- m.keepCurrent(ctx, k, at[k.kind]) }()
	}
	return g.printChanges(ctx, m, failed)
}

// printChanges prints what changes in a mirror until the context ends or following fails.
func (g *getOptions) printChanges(ctx context.Context, m *watchCache, failed <-chan error) error {
	shown := newChangePrinter(g)
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
		if err := shown.print(g.matchingRows(bundle)); err != nil {
			return err
		}
		sleep(ctx, batchDelay)
	}
}

// changePrinter prints rows that are new or changed.
type changePrinter struct {
	get           *getOptions
	out           bytes.Buffer
	table         *table
	printed       map[string]resourceRow
	headerPrinted bool
}

func newChangePrinter(g *getOptions) *changePrinter {
	t := &changePrinter{get: g, printed: map[string]resourceRow{}}
	t.table = g.table(&t.out)
	return t
}

// key identifies a row.
func (r resourceRow) key() string { return r.namespace + "/" + r.name + " " + r.path }

// print prints the rows that changed since the last call.
func (t *changePrinter) print(rows []resourceRow) error {
	var changed []resourceRow
	there := make(map[string]resourceRow, len(rows))
	for _, row := range rows {
		there[row.key()] = row
		if before, known := t.printed[row.key()]; !known || !equality.Semantic.DeepEqual(before.info, row.info) {
			changed = append(changed, row)
		}
	}
	changed = append(changed, t.deletedRows(there)...)
	t.printed = there
	if len(changed) == 0 {
		return nil
	}
	if err := t.render(changed); err != nil {
		return err
	}
	_, err := t.get.source.streams.Out.Write(t.out.Bytes())
	t.out.Reset()
	if err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// deletedRows returns the printed rows whose objects no longer exist, by name.
func (t *changePrinter) deletedRows(there map[string]resourceRow) []resourceRow {
	var out []resourceRow
	for _, key := range sortedKeys(t.printed) {
		if _, still := there[key]; still {
			continue
		}
		row := t.printed[key]
		cells := make([]cell, len(row.cells))
		for i := range cells {
			cells[i] = cell{dash, styleFaint}
		}
		cells[0] = cell{"gone", styleFaint}
		row.cells = cells
		out = append(out, row)
	}
	return out
}

func (t *changePrinter) render(rows []resourceRow) error {
	if t.get.output == "name" {
		return t.get.write(&t.out, rows)
	}
	if !t.headerPrinted {
		t.get.header(t.table)
		t.headerPrinted = true
	}
	t.get.addRows(t.table, rows)
	return t.table.Flush()
}
