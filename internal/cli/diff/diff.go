package diff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
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

Exit codes: 0 when no decision moves and no object is touched, 1 when one is, 2 when the input or the command line is wrong, or when the
change holds no object that Berth knows.`

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

  # What if a placement and a set were gone?
  kubectl berth diff --delete placement/shop/web --delete managedclusterset/gold`

// options is the command line of `kubectl berth diff`.
type options struct {
	*reader.Fleet

	changes, deletions, cordoned, drained, removed []string
	now                                            string
	output                                         command.OutputFlag
	validate                                       command.ValidateFlag
	// base holds the files of --base once they are read.
	base *file.Bundle
}

// load reads what the change is compared with, once.
func (d *options) load(ctx context.Context) (*file.Bundle, error) {
	if d.base != nil {
		return d.base, nil
	}
	var err error
	d.base, err = d.Load(ctx, reader.Scope{})
	return d.base, err
}

func NewCommand(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	d := &options{Fleet: reader.NewFleet(streams, clock)}
	cmd := &cobra.Command{
		Use:     "diff [-f CHANGE...] [flags]",
		Short:   "Show which clusters and objects a change would touch",
		Long:    long,
		Example: examples,
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			form, now, err := d.complete()
			if err != nil {
				return command.NewUsageError(cmd, err)
			}
			return d.run(cmd.Context(), now, form)
		},
		DisableFlagsInUseLine: true,
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&d.changes, "filename", "f", nil, "`file` of manifests to apply, or a folder, or - for standard input; may be repeated")
	flags.StringArrayVar(&d.Files, "base", nil, "`file` to compare the change with instead of a hub, or a folder; may be repeated")
	flags.BoolVarP(&d.Recursive, "recursive", "R", false, "read the folders below a folder too")
	flags.StringArrayVar(&d.deletions, "delete", nil, "`object` to delete, as KIND/NAME or KIND/NAMESPACE/NAME with any name that kubectl has for the kind, or a file of manifests; may be repeated")
	flags.StringArrayVar(&d.cordoned, "cordon", nil, "`cluster` to keep new placements away from; may be repeated")
	flags.StringArrayVar(&d.drained, "drain", nil, "label `selector` of clusters to remove every placement from; may be repeated")
	flags.StringArrayVar(&d.removed, "remove", nil, "`cluster` to delete; may be repeated")
	flags.StringVar(&d.now, "now", "", "`instant` to decide for, such as 2026-11-20T10:00:00Z (default: now)")
	d.output.Add(cmd, "`form` of the answer: json (default: a summary)", "", "json")
	d.validate.Add(cmd)
	d.HubFlags.FilesFlag = "--base"
	command.AddHubFlags(cmd, d.HubFlags, "cordon", "remove")
	completion.Register(cmd, "delete", d.completeDeletion)
	return cmd
}

// completeDeletion names kinds, then objects as KIND/NAME, or files.
func (d *options) completeDeletion(cmd *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
	word, name, named := strings.Cut(start, "/")
	var out []string
	for _, k := range change.Deletable() {
		switch {
		case !named:
			out = append(out, k.Singular()+"/")
		case k.Is(word) && k.Kind != reader.ScoreKind().Kind:
			for _, found := range completion.Of(d.HubFlags).Names(cmd.Context(), k, name) {
				out = append(out, word+"/"+found)
			}
		}
	}
	if named {
		return out, cobra.ShellCompDirectiveDefault
	}
	return completion.WithPrefix(out, start), cobra.ShellCompDirectiveNoSpace
}

// diffPrinter writes what moves in one of the forms.
type diffPrinter = func(w io.Writer, of *change.Report, on printer.Screen) error

// complete checks the flags.
func (d *options) complete() (diffPrinter, time.Time, error) {
	now, err := command.Now(d.now, d.Clock)
	form, known := map[string]diffPrinter{"": change.Print, "json": nil}[d.output.Form]
	switch {
	case err != nil:
		return nil, now, err
	case !known:
		return nil, now, d.output.Check()
	case len(d.changes)+len(d.deletions)+len(d.cordoned)+len(d.drained)+len(d.removed) == 0:
		return nil, now, errors.New("no change to look at: give one with -f, --delete, --cordon, --drain or --remove")
	}
	return form, now, errors.Join(d.validate.Level.Check(), d.check())
}

// check checks the proposed change as far as the command line shows it.
func (d *options) check() error {
	for _, text := range d.drained {
		if selector, err := labels.Parse(text); err != nil {
			return fmt.Errorf("--drain %q is no label selector: %w", text, err)
		} else if selector.Empty() {
			return errors.New("--drain is empty: name the labels of the clusters to drain")
		}
	}
	for _, name := range d.cordoned {
		if slices.Contains(d.removed, name) && name != "" {
			return fmt.Errorf("--cordon and --remove both name %s: leave one of them out", name)
		}
	}
	switch {
	case slices.Contains(d.cordoned, ""):
		return errors.New("--cordon is empty: name a cluster")
	case slices.Contains(d.removed, ""):
		return errors.New("--remove is empty: name a cluster")
	case slices.Contains(d.deletions, ""):
		return errors.New("--delete is empty: name an object, or a file of manifests")
	}
	for _, text := range d.deletions {
		if _, _, err := change.ParseReference(text, ""); err != nil {
			return err
		}
	}
	reads := 0
	for _, name := range slices.Concat(d.Files, d.changes, d.deletions) {
		if name == "-" {
			reads++
		}
	}
	if reads > 1 {
		return errors.New("standard input can be read once: give - to one of -f, --base and --delete only")
	}
	return nil
}

// errEmptyChange keeps a mistaken path or an empty pipe from passing for a change that moves nothing.
var errEmptyChange = errors.New("the change holds no object that Berth knows; check that -f and --delete name manifests of clusters, sets, " +
	"bindings, placements, scores, ManifestWorkReplicaSets or ManifestWorks")

func (d *options) run(ctx context.Context, now time.Time, form diffPrinter) error {
	d.Validation = d.validate.Level
	proposed, err := d.readChange(ctx)
	if err != nil {
		return err
	}
	var found wholeDiff
	if len(proposed.Applied.WorkSets)+len(proposed.Applied.Works) > 0 {
		if found.deliveryDiff, err = d.deliveryDiff(ctx, proposed.Applied, now); err != nil {
			return err
		}
	}
	switch {
	case !proposed.Empty():
		if found.Report, err = d.decisionDiff(ctx, proposed, now); err != nil {
			return err
		}
	case found.deliveryDiff == nil:
		return errEmptyChange
	}
	if err := printer.WriteBuffered(d.Streams.Out, func(w io.Writer) error { return d.write(w, found, form) }); err != nil {
		return err
	}
	if found.Report != nil && found.Moved > 0 || found.deliveryDiff != nil && found.touched() {
		return command.UnsatisfiedError{}
	}
	return nil
}

// write writes what moves and what is touched.
func (d *options) write(w io.Writer, found wholeDiff, form diffPrinter) error {
	if d.output.Form == "json" {
		return printer.WriteData(w, d.output.Form, found)
	}
	on := printer.ScreenOf(d.Streams.Out, os.Getenv)
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

// decisionDiff simulates a change of what placements decide from.
func (d *options) decisionDiff(ctx context.Context, proposed *change.Proposal, now time.Time) (*change.Report, error) {
	bundle, err := d.load(ctx)
	if err != nil {
		return nil, err
	}
	if d.Offline() && len(bundle.Placements)+len(proposed.Applied.Placements) == 0 {
		return nil, command.ErrNoPlacement
	}
	progress := printer.NewProgress(d.Streams.ErrOut, d.Clock)
	defer progress.Done()
	base := change.NewSimulation(bundle, now, progress)
	base.Stabilize(base.Order)
	next := base.Clone()
	touched, err := next.ApplyChange(proposed)
	if err != nil {
		return nil, err
	}
	next.Stabilize(touched)
	return change.Compare(base, next), nil
}

// readChange reads what is to be changed.
func (d *options) readChange(ctx context.Context) (*change.Proposal, error) {
	namespace := d.HubFlags.Namespace()
	if !d.Offline() {
		h, err := d.Connect()
		if err != nil {
			return nil, err
		}
		namespace = h.Namespace
	}
	out := &change.Proposal{Cordoned: d.cordoned, Drained: d.drained, Removed: d.removed, Namespace: namespace}
	load := func(names []string) (*file.Bundle, error) {
		loader := file.Loader{Stdin: d.Streams.In, Recursive: d.Recursive, Namespace: namespace, Validation: d.validate.Level}
		bundle, err := loader.Load(ctx, names)
		if err == nil {
			reader.PrintWarnings(d.Streams.ErrOut, bundle)
		}
		return bundle, err
	}
	var err error
	if out.Applied, err = load(d.changes); err != nil {
		return nil, err
	}
	if len(out.Applied.Decisions) > 0 {
		return nil, errors.New("the change holds PlacementDecisions: they are what follows from a change; leave them out")
	}
	var files []string
	for _, name := range d.deletions {
		object, named, err := change.ParseReference(name, namespace)
		switch {
		case err != nil:
			return nil, err
		case named:
			out.Deleted = append(out.Deleted, object)
		default:
			files = append(files, name)
		}
	}
	if len(files) == 0 {
		return out, nil
	}
	bundle, err := load(files)
	if err != nil {
		return nil, err
	}
	out.Deleted = append(out.Deleted, change.ObjectsOf(bundle)...)
	return out, nil
}
