package diff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/cli/change"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/source/file"
)

const long = `Show which placements would gain and lose which clusters by a change, and why. Nothing is written.

The change is any mix of manifests to apply, objects to delete, and the common questions: --cordon keeps new placements away
from a cluster (a NoSelectIfNew taint), --drain removes every placement from the matching clusters (a NoSelect taint),
--remove deletes a cluster. The change is compared with the hub, or with the files of --base.

Both sides are decided as the manager does until nothing moves: the base first, so that only what the change does is shown.
A manifest of a cluster takes the place of the one there; a status and taints that it does not give stay, and so do
labels that add-ons maintain. A manifest of a placement keeps the status and the decisions of the one there.

A lost cluster is printed with its verdict after the change, a gained cluster with its verdict before.

Without the permission to list the hub, the change is compared with the clusters and sets that you may see and the objects
of your namespace, without scores; a note on standard error reports this. The hub may decide differently.

Of ManifestWorkReplicaSets and ManifestWorks it shows which clusters the change would touch, which objects there are created, changed
with the names of the fields, or removed, and in which waves clusters would start. It compares with the works and the decisions that
the hub has, sends no request to a member, and never prints a value.

Where -f names several files, it also shows which placements are empty in between if the files are applied one after the other, and an
order that avoids it. Decision groups, tiers and tolerations of the placements of the change that match nothing are named.

A placement that the change makes Misconfigured keeps its clusters and is not decided any more: its fault is printed.

Where the change would take too many clusters away at once, the brake of the manager keeps them, and the answer names the brake.

Exit codes: 0 when no decision moves, in the end or in between, no placement becomes Misconfigured, no brake engages and no object is
touched, 1 otherwise,
2 when the input or the command line is wrong, or when the change holds no object that Berth knows.`

const examples = `  # What would this merge request move?
  kubectl berth diff -f manifests/

  # The same in a pipeline that reaches no hub
  kubectl berth diff --base fleet.yaml -f manifests/ -o json

  # May the clusters of a region be drained?
  kubectl berth diff --drain region=eu-west-1

  # Keep new placements away from one cluster, and delete another
  kubectl berth diff --cordon eu-7 --remove eu-8

  # Which clusters and objects would this template touch, and in which waves?
  kubectl berth diff -f set.yaml

  # What would kubectl replace --force do?
  kubectl berth diff -f set.yaml --replace

  # What if a placement and a set were gone?
  kubectl berth diff --delete placement/shop/web --delete managedclusterset/gold`

// The values of --brake.
const brakeOn, brakeOff = "on", "off"

// options is the command line of `kubectl berth diff`.
type options struct {
	*reader.Fleet

	changes, deletions, cordoned, drained, removed []string
	now, brake                                     string
	replace                                        bool
	output                                         command.OutputFlag
	validate                                       command.ValidateFlag
	// base holds the files of --base once they are read.
	base *file.Bundle
}

// load reads what the change is compared with, once.
func (o *options) load(ctx context.Context) (*file.Bundle, error) {
	if o.base != nil {
		return o.base, nil
	}
	var err error
	o.base, err = o.Load(ctx, reader.Scope{})
	return o.base, err
}

// NewCommand returns the command `kubectl berth diff`.
func NewCommand(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	o := &options{Fleet: reader.NewFleet(streams, clock)}
	cmd := &cobra.Command{
		Use:     "diff [-f CHANGE...] [flags]",
		Short:   "Show which clusters and objects a change would touch",
		Long:    long,
		Example: examples,
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			form, now, err := o.complete()
			if err != nil {
				return command.NewUsageError(cmd, err)
			}
			return o.run(cmd.Context(), now, form)
		},
		DisableFlagsInUseLine: true,
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.changes, "filename", "f", nil,
		"`file` of manifests to apply, or a folder, or - for standard input; may be repeated")
	flags.StringArrayVar(&o.Files, "base", nil, "`file` to compare the change with instead of a hub, or a folder; may be repeated")
	flags.BoolVarP(&o.Recursive, "recursive", "R", false, "read the folders below a folder too")
	flags.StringArrayVar(&o.deletions, "delete", nil,
		"`object` to delete, as KIND/NAME or KIND/NAMESPACE/NAME with any name that kubectl has for the kind, or a file of manifests; may "+
			"be repeated")
	flags.StringArrayVar(&o.cordoned, "cordon", nil, "`cluster` to keep new placements away from; may be repeated")
	flags.StringArrayVar(&o.drained, "drain", nil, "label `selector` of clusters to remove every placement from; may be repeated")
	flags.StringArrayVar(&o.removed, "remove", nil, "`cluster` to delete; may be repeated")
	flags.BoolVar(&o.replace, "replace", false,
		"delete and create what -f names, as `kubectl replace --force` does, instead of applying it")
	flags.StringVar(&o.now, "now", "", "`instant` to decide for, such as 2026-11-20T10:00:00Z (default: now)")
	flags.StringVar(&o.brake, "brake", brakeOn,
		"`on` or off, as --brake of the manager: whether evictions stop when too many clusters leave at once")
	o.output.Add(cmd, "`form` of the answer: json (default: a summary)", "", "json")
	o.validate.Add(cmd)
	o.HubFlags.FilesFlag = "--base"
	command.AddHubFlags(cmd, o.HubFlags, "cordon", "remove")
	completion.Register(cmd, "delete", o.completeDeletion)
	completion.Register(cmd, "brake", cobra.FixedCompletions([]string{brakeOn, brakeOff}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// complete checks the flags.
func (o *options) complete() (diffPrinter, time.Time, error) {
	now, err := command.Now(o.now, o.Clock)
	form, known := map[string]diffPrinter{"": change.Print, "json": nil}[o.output.Form]
	switch {
	case err != nil:
		return nil, now, err
	case !known:
		return nil, now, o.output.Check()
	case o.brake != brakeOn && o.brake != brakeOff:
		return nil, now, fmt.Errorf("--brake %s: want on or off", o.brake)
	case o.replace && len(o.changes) == 0:
		return nil, now, errors.New("--replace needs -f: name the manifests to delete and create")
	case len(o.changes)+len(o.deletions)+len(o.cordoned)+len(o.drained)+len(o.removed) == 0:
		return nil, now, errors.New("no change to look at: give one with -f, --delete, --cordon, --drain or --remove")
	}
	return form, now, errors.Join(o.validate.Level.Check(), o.check())
}

// errEmptyChange keeps a mistaken path or an empty pipe from passing for a change that moves nothing.
var errEmptyChange = errors.New("the change holds no object that Berth knows; check that -f and --delete name manifests of clusters, " +
	"sets, bindings, placements, scores, ManifestWorkReplicaSets or ManifestWorks")

func (o *options) run(ctx context.Context, now time.Time, form diffPrinter) error {
	o.Validation = o.validate.Level
	proposed, err := o.readChange(ctx)
	if err != nil {
		return err
	}
	var found wholeDiff
	if len(proposed.Applied.WorkSets)+len(proposed.Applied.Works) > 0 {
		if found.deliveryDiff, err = o.deliveryDiff(ctx, proposed.Applied, now); err != nil {
			return err
		}
	}
	switch {
	case !proposed.Empty():
		if found.Report, err = o.decisionDiff(ctx, proposed, now); err != nil {
			return err
		}
	case found.deliveryDiff == nil:
		return errEmptyChange
	}
	if err := printer.WriteBuffered(o.Streams.Out, func(w io.Writer) error { return o.write(w, found, form) }); err != nil {
		return err
	}
	if found.Report != nil && found.Refused() || found.deliveryDiff != nil && found.touched() {
		return command.UnsatisfiedError{}
	}
	return nil
}

// write writes what moves and what is touched.
func (o *options) write(w io.Writer, found wholeDiff, form diffPrinter) error {
	if o.output.Form == "json" {
		return printer.WriteData(w, o.output.Form, found)
	}
	on := printer.ScreenOf(o.Streams.Out, os.Getenv)
	if found.Report != nil {
		if err := form(w, found.Report, on); err != nil {
			return err
		}
	}
	if found.deliveryDiff == nil {
		return nil
	}
	if found.Report != nil {
		printer.Printf(w, "\n")
	}
	return found.print(w, on)
}
