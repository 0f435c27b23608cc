package simulate

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/offline"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/source/file"
)

const long = `Decide placements offline, by the rules that the manager on a hub follows, and write nothing.

The input is any mix of ManagedClusters, ManagedClusterSets, ManagedClusterSetBindings, Placements, PlacementDecisions
and AddOnPlacementScores, as manifests or as kubectl prints them. PlacementDecisions are the decisions so far: what they
name stays selected where it can, and counts for Balance. Objects of other kinds are skipped.

Placements are decided by namespace, then name, each seeing the decisions of those before. One that has the annotation
cluster.open-cluster-management.io/experimental-scheduling-disable: "true", or that is being deleted, is shown as it is.

Input that a hub would refuse is refused, with every fault that it has. So are unknown fields and unknown kinds of Berth's
groups, unless --validate says otherwise, and input without a Placement.

--fleet generates a fleet in the shape of real ones, beside the files: the clusters cluster-00000 and on, of 30 regions and
many labels and claims, some tainted; the exclusive sets set-00 and on; and the set "fleet", which has every cluster, those
in the files too, and is bound to every namespace that has a placement. A set set-00 can be bound in the files.

--at lets time go by: everything is decided now, then at each instant, from the decisions so far. On the way the hub looks
again whenever it would: when a toleration, a score, a hold of the disruption policy or a wait for fail-back runs out. The table
shows what moved and why; yaml and json show the end. A taint without a time counts from now.

The table is for people. yaml and json give a List of each Placement with its status, followed by its
PlacementDecisions: what a hub would hold. Given back together with the fleet, it decides the same again.

Where the decisions of now would take too many clusters away at once, the brake of a hub keeps them, and a warning names it.

Exit codes: 0 when all is well, 1 when --require-satisfied is given and a placement is not satisfied, now or at an instant
of --at, or a brake stops what is decided, 2 when the input or the command line is wrong.`

const examples = `  # What would the placements in a folder select from the fleet of a hub?
  kubectl get managedclusters,managedclustersets -o yaml > fleet.yaml
  kubectl get managedclustersetbindings,placementdecisions -A -o yaml > namespaces.yaml
  kubectl berth simulate -f fleet.yaml -f namespaces.yaml -f placements/

  # Straight from a hub, without a file
  kubectl get mcl,mclset,mclsetbinding,placement,placementdecision,addonplacementscore -A -o yaml | kubectl berth simulate -f -

  # What will have changed tomorrow, when tolerations and scores have run out?
  kubectl berth simulate -f fleet.yaml --now 2026-11-21T09:00:00Z

  # Which clusters move in the next hour, when, and why?
  kubectl berth simulate -f fleet.yaml -f placements/ --at +10m --at +1h

  # Until when will nothing change by itself, and what changes then?
  kubectl berth simulate -f fleet.yaml -f placements/ --at next

  # What would the placements select from a fleet of 500 clusters?
  kubectl berth simulate -f placements/ --fleet 500 --seed 7

  # The same fleet as a file, to edit
  kubectl berth simulate -f placements/ --fleet 500 --seed 7 --print-fleet > fleet.yaml

  # Fail a pipeline when a placement would not get the clusters that it asks for
  kubectl berth simulate -f fleet.yaml -f placement.yaml --require-satisfied

  # The decisions themselves
  kubectl berth simulate -f fleet.yaml -o json | jq -r '.items[].status.decisions[]?.clusterName'`

// options is the command line of `kubectl berth simulate`.
type options struct {
	streams genericiooptions.IOStreams
	clock   clock.PassiveClock

	files            []string
	recursive        bool
	namespace        string
	now              string
	at               []string
	output           command.OutputFlag
	requireSatisfied bool
	validate         command.ValidateFlag
	generated        reader.GeneratedFleet
}

// NewCommand returns the command `kubectl berth simulate`.
func NewCommand(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	o := &options{streams: streams, clock: clock}
	cmd := &cobra.Command{
		Use:     "simulate -f FILE... [--fleet N] [flags]",
		Short:   "Decide placements offline, from files",
		Long:    long,
		Example: examples,
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			asked, err := o.complete(cmd.Flags())
			if err != nil {
				return command.NewUsageError(cmd, err)
			}
			return o.run(cmd.Context(), asked)
		},
		DisableFlagsInUseLine: true,
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "`file` to read objects from, or a folder, or - for standard input; may be repeated")
	flags.BoolVarP(&o.recursive, "recursive", "R", false, "read the folders below a folder too")
	flags.StringVarP(&o.namespace, "namespace", "n", "default", "`namespace` of objects that do not say theirs")
	flags.StringVar(&o.now, "now", "", "`instant` to decide for, such as 2026-11-20T10:00:00Z (default: now)")
	flags.StringArrayVar(&o.at, "at", nil,
		"later `instant` to decide for too, offset from now such as +10m, or next; may be repeated, in order")
	o.output.Add(cmd, "`form` of the result: table, yaml or json", "table", "yaml", "json")
	flags.BoolVar(&o.requireSatisfied, "require-satisfied", false, "exit with 1 when a placement is not satisfied")
	o.validate.Add(cmd)
	o.generated.AddFlags(flags)
	completion.Register(cmd, "namespace", cobra.NoFileCompletions) // files have namespaces of their own
	return cmd
}

// input is the parsed command line.
type input struct {
	now      time.Time
	instants []requestedInstant
}

// complete checks the flags.
func (o *options) complete(flags *pflag.FlagSet) (input, error) {
	if err := errors.Join(o.generated.Check(flags), o.validate.Level.Check()); err != nil {
		return input{}, err
	}
	switch {
	case len(o.files) > 0:
	case o.generated.Clusters == 0:
		return input{}, errors.New("nothing to read: give at least one file, folder or - with -f")
	case !o.generated.Printed:
		return input{}, errors.New("a fleet alone has nothing to decide: give placements with -f, or see it with --print-fleet")
	}
	if err := o.output.Check(); err != nil {
		return input{}, err
	}
	now, err := command.Now(o.now, o.clock)
	if err != nil {
		return input{}, err
	}
	if len(o.at) > 0 {
		now = now.Truncate(time.Second) // a hub keeps instants without fractions
	}
	stops, err := readInstants(o.at, now)
	return input{now, stops}, err
}

func (o *options) run(ctx context.Context, of input) error {
	loader := file.Loader{Stdin: o.streams.In, Recursive: o.recursive, Namespace: o.namespace, Validation: o.validate.Level}
	bundle, err := loader.Load(ctx, o.files)
	if err != nil {
		return err
	}
	reader.PrintWarnings(o.streams.ErrOut, bundle)
	if o.generated.Printed {
		form := cmp.Or(map[string]string{"json": "json"}[o.output.Form], "yaml")
		return printer.WriteBuffered(o.streams.Out, func(w io.Writer) error { return o.generated.PrintFleet(w, bundle.Placements, form) })
	}
	if err := o.generated.Add(bundle); err != nil {
		return err
	}
	if len(bundle.Placements) == 0 {
		return command.ErrNoPlacement
	}
	var unsatisfied, braked []string
	err = printer.WriteBuffered(o.streams.Out, func(w io.Writer) error {
		unsatisfied, braked, err = o.decide(ctx, w, bundle, of)
		return err
	})
	if err != nil {
		return err
	}
	for _, line := range braked {
		printer.Printf(o.streams.ErrOut, "Warning: a hub stops this by a brake: %s\n", line)
	}
	switch {
	case !o.requireSatisfied || len(unsatisfied)+len(braked) == 0:
		return nil
	case len(unsatisfied) == 0:
		return command.UnsatisfiedError{Text: "a brake stops what was decided"}
	default:
		text := phrase.Count(len(unsatisfied), "placement") + " not satisfied:\n" + printer.Indent(strings.Join(unsatisfied, "\n"))
		return command.UnsatisfiedError{Text: text}
	}
}

// decide writes the decisions now and at the requested instants, and returns the placements that are not satisfied, and the brakes that
// the decisions of now put on.
func (o *options) decide(ctx context.Context, w io.Writer, bundle *file.Bundle, of input) (unsatisfied, braked []string, err error) {
	if len(of.instants) == 0 {
		decided := offline.Decide(bundle, of.now)
		return notSatisfied(decided), offline.Braked(decided, of.now, bundle.Sets), o.print(w, decided)
	}
	t := offline.NewTimeline(bundle, of.now)
	unsatisfied, braked = notSatisfied(t.Decided), offline.Braked(t.Decided, of.now, bundle.Sets)
	moves := io.Discard
	if o.output.Form == "table" {
		moves = w
		if err := offline.PrintTable(w, t.Decided); err != nil {
			return nil, nil, err
		}
	}
	later, err := runInstants(ctx, moves, t, of.instants)
	if err != nil {
		return nil, nil, err
	}
	if o.output.Form != "table" {
		err = o.print(w, t.Decided)
	}
	return append(unsatisfied, later...), braked, err
}

// print writes decisions in the form of the output flag.
func (o *options) print(w io.Writer, decided []offline.Decision) error {
	if o.output.Form == "table" {
		return offline.PrintTable(w, decided)
	}
	return printer.WriteData(w, o.output.Form, offline.Objects(decided))
}
