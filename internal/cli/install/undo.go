package install

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/install/takeover"
	"github.com/berth-project/berth/internal/install/uninstall"
	"github.com/berth-project/berth/internal/kube/phrase"
)

const takeoverUndoLong = `Turn the controllers that a takeover turned off on again, the operator last, with the replicas that they had.

Stop Berth first. Without --yes the command prints what it would do and changes nothing. The record goes when everything is on again.`

func (o *takeoverOptions) undo(ctx context.Context, hub client.Client) error {
	record, err := takeover.Load(ctx, hub)
	if err != nil {
		return err
	}
	if !o.yes {
		for _, workload := range record.Undone() {
			printer.Printf(o.streams.Out, "would scale %s to %d\n", workload, workload.Replicas)
		}
		printer.Printf(o.streams.Out, "%s. This was a dry run: stop Berth, and add --yes to turn them on.\n",
			phrase.Count(len(record.Stopped), "controller"))
		return nil
	}
	if err := uninstall.CheckStopped(ctx, hub, o.clock.Now()); err != nil {
		return err
	}
	for _, workload := range record.Undone() {
		switch err := takeover.Start(ctx, hub, workload); {
		case apierrors.IsNotFound(err):
			printer.Printf(o.streams.Out, "%s: it is gone, and is not turned on\n", workload)
		case err != nil:
			return err
		default:
			printer.Printf(o.streams.Out, "%s: scaled to %d\n", workload, workload.Replicas)
		}
	}
	return takeover.Remove(ctx, hub)
}
