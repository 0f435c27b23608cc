package get

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/cli/resource"
)

// batchDelay is how long changes are collected before they are printed.
const batchDelay = 100 * time.Millisecond

// watchRows prints the rows, then every row that changes, until the user interrupts it. The row of a deleted object is
// printed once more, as "gone".
func (o *options) watchRows(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.resolveNamespace(); err != nil {
		return err
	}
	h, err := o.source.Connect()
	if err != nil {
		return err
	}
	m := reader.NewWatchCache(h, o.scope())
	at, err := m.ListAll(ctx)
	if ctx.Err() != nil {
		return nil // interrupted
	}
	if err != nil {
		return err
	}
	h.Progress = nil // from now on there is no waiting
	failed := make(chan error, len(m.Scope.Kinds))
	for _, k := range m.Scope.Kinds {
		go func() { failed <- m.KeepCurrent(ctx, k, at[k.Kind]) }()
	}
	return o.printChanges(ctx, m, failed)
}

// printChanges prints what changes in a mirror until the context ends or following fails.
func (o *options) printChanges(ctx context.Context, m *reader.WatchCache, failed <-chan error) error {
	shown := newChangePrinter(o)
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-m.Changed:
		}
		bundle, err := m.Bundle()
		if err != nil {
			return err
		}
		if err := shown.print(o.matchingRows(bundle)); err != nil {
			return err
		}
		reader.Sleep(ctx, batchDelay)
	}
}

// changePrinter prints rows that are new or changed.
type changePrinter struct {
	get           *options
	out           bytes.Buffer
	table         *printer.Table
	printed       map[string]resource.Row
	headerPrinted bool
}

func newChangePrinter(o *options) *changePrinter {
	t := &changePrinter{get: o, printed: map[string]resource.Row{}}
	t.table = o.table(&t.out)
	return t
}

// print prints the rows that changed since the last call.
func (c *changePrinter) print(rows []resource.Row) error {
	var changed []resource.Row
	there := make(map[string]resource.Row, len(rows))
	for _, row := range rows {
		there[row.Key()] = row
		if before, known := c.printed[row.Key()]; !known || !equality.Semantic.DeepEqual(before.Info, row.Info) {
			changed = append(changed, row)
		}
	}
	changed = append(changed, c.deletedRows(there)...)
	c.printed = there
	if len(changed) == 0 {
		return nil
	}
	if err := c.render(changed); err != nil {
		return err
	}
	_, err := c.get.source.Streams.Out.Write(c.out.Bytes())
	c.out.Reset()
	if err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// deletedRows returns the printed rows whose objects no longer exist, by name.
func (c *changePrinter) deletedRows(there map[string]resource.Row) []resource.Row {
	var out []resource.Row
	for _, key := range printer.SortedKeys(c.printed) {
		if _, still := there[key]; still {
			continue
		}
		row := c.printed[key]
		cells := make([]printer.Cell, len(row.Cells))
		for i := range cells {
			cells[i] = printer.StyledCell(printer.Dash, printer.StyleFaint)
		}
		cells[0] = printer.StyledCell("gone", printer.StyleFaint)
		row.Cells = cells
		out = append(out, row)
	}
	return out
}

func (c *changePrinter) render(rows []resource.Row) error {
	if c.get.output == "name" {
		return c.get.write(&c.out, rows)
	}
	if !c.headerPrinted {
		c.get.header(c.table)
		c.headerPrinted = true
	}
	c.get.addRows(c.table, rows)
	return c.table.Flush()
}
