package install

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/install/takeover"
	"github.com/berth-project/berth/internal/kube/phrase"
)

const takeoverVerifyLong = `Compare a hub with the record of its takeover: the clusters and groups of every placement, and the works of every namespace.

The command waits until Berth has decided every placement, at most --timeout. Exit code 0 means that no decision has moved and no work was
written, 1 that something differs. Later changes of placements, clusters and works differ too: verify soon after the start of Berth.`

func (o *takeoverOptions) verify(ctx context.Context, hub client.Client) error {
	record, err := takeover.Load(ctx, hub)
	if err != nil {
		return err
	}
	if record.State == nil {
		return takeover.ErrUnfinished
	}
	var found takeover.Comparison
	var failure error
	err = wait.PollUntilContextTimeout(ctx, verifyInterval, o.verifyTimeout, true, func(context.Context) (bool, error) {
		// The requests have the context of the command, since that of the wait may end during them.
		found, failure = takeover.Compare(ctx, hub, *record.State)
		return len(found.Undecided) == 0, failure
	})
	if failure != nil {
		return failure
	}
	if err != nil && ctx.Err() != nil {
		return err
	}
	if err := printer.WriteBuffered(o.streams.Out, func(w io.Writer) error { return printComparison(w, found) }); err != nil || found.Kept() {
		return err
	}
	return command.UnsatisfiedError{}
}

// printComparison writes what differs from the record.
func printComparison(w io.Writer, found takeover.Comparison) error {
	printer.Printf(w, "decisions  %s, %d moved\n", phrase.Count(found.Placements, "placement"), len(found.Moved))
	printer.Printf(w, "works      %s, %s changed\n", phrase.Count(found.Works, "work"), phrase.Count(len(found.Touched), "namespace"))
	for _, part := range []struct {
		label string
		lines []string
	}{{"", found.Moved}, {"", found.Touched}, {"not decided by Berth: placement ", found.Undecided}} {
		for i, line := range part.lines {
			if i == maxDifferences {
				printer.Printf(w, "  and %d more\n", len(part.lines)-i)
				break
			}
			printer.Printf(w, "  %s%s\n", part.label, line)
		}
	}
	return nil
}
