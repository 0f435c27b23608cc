package explain

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/internal/source/file"
)

const long = `Show why each cluster is selected by a placement or not, from the run that decided, and how far the delivery to it is.

Without files, the manager of the hub explains its last run for the placement. It lists the clusters that you may see and
counts the others. You need the permission to get the placement.

With files the placements in them are decided first, as simulate does, from the decisions that they hold.

The summary groups the clusters by verdict, the nearest to selection first. --cluster shows everything about one cluster,
and the smallest change that would make it selected, proved by a run. -o wide lists every cluster with its scores; json and yaml give the explanation as data, of kind ` + explain.Kind + `.
Below it, each ManifestWorkReplicaSet that delivers to the selected clusters has its state, as explained for the set itself.

Of a ManifestWorkReplicaSet (mwrs) it shows the rollout of each placement, and the clusters by what they wait for: since when,
which manifest fails with which error, what happens next and when. CLUSTER shows one cluster in full. Of a ManifestWork it
shows the state of each object; its namespace is the cluster. You need the permission to get the object. Without the right to
list works in all namespaces, the manager serves the clusters that you may see.`

const examples = `  # Why does this placement select what it selects?
  kubectl berth explain placement web -n shop

  # Why is one cluster not selected, and what would change that?
  kubectl berth explain placement web -n shop --cluster eu-7

  # Every cluster with its scores
  kubectl berth explain placement web -n shop -o wide

  # The same without a hub, as things will be tomorrow
  kubectl berth explain placement web -f fleet.yaml --now 2026-11-21T09:00:00Z

  # How far is the delivery of the set web, and why does edge-7 not have it?
  kubectl berth explain mwrs web -n shop
  kubectl berth explain mwrs web edge-7 -n shop

  # The same from what was saved from a hub
  kubectl berth explain mwrs web -n shop -f must-gather/

  # Clusters that missed selection by ten points or less
  kubectl berth explain placement web -n shop -o json | jq -r '.clusters[] | select(.beaten.points <= 10) | .name'`

// options is the command line of `kubectl berth explain`.
type options struct {
	*reader.Fleet

	now, cluster string
	output       command.OutputFlag
	// bundle holds the files once they are read.
	bundle *file.Bundle
}

// load reads the files once.
func (o *options) load(ctx context.Context) (*file.Bundle, error) {
	if o.bundle != nil {
		return o.bundle, nil
	}
	var err error
	o.bundle, err = o.Load(ctx, reader.Scope{})
	return o.bundle, err
}

// NewCommand returns the command `kubectl berth explain`.
func NewCommand(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	o := &options{Fleet: reader.NewFleet(streams, clock)}
	cmd := &cobra.Command{
		Use:               "explain [placement|manifestworkreplicaset|manifestwork] NAME [CLUSTER] [flags]",
		Short:             "Show why each cluster is selected or not, and how far its delivery is",
		Long:              long,
		Example:           examples,
		Args:              checkArguments,
		ValidArgsFunction: o.completeTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			form, now, err := o.complete(cmd)
			if err != nil {
				return command.NewUsageError(cmd, err)
			}
			target, err := parseTarget(args)
			if err != nil {
				return command.NewUsageError(cmd, err)
			}
			o.cluster = cmp.Or(target.cluster, o.cluster)
			switch target.kind.Kind {
			case reader.WorkSetKind().Kind:
				return o.explainSet(cmd.Context(), target.name, now)
			case reader.WorkKind().Kind:
				return o.explainWork(cmd.Context(), target.name, now)
			default:
				return o.run(cmd.Context(), target.name, now, form)
			}
		},
		DisableFlagsInUseLine: true,
	}
	// pflag keeps the first flag of a name, so this one replaces kubectl's --cluster, an entry of the kubeconfig.
	cmd.Flags().StringVar(&o.cluster, "cluster", "", "`name` of a cluster to explain in full")
	cmd.Flags().StringVar(&o.now, "now", "", "with files, the `instant` to decide for, such as 2026-11-20T10:00:00Z (default: now)")
	o.output.Add(cmd, "`form` of the answer: wide, json or yaml (default: a summary)", "", "wide", "json", "yaml")
	command.AddFleetFlags(cmd, o.Fleet, "cluster")
	return cmd
}

// deliveredExplanation is an explanation with what the sets deliver to the clusters of the placement.
type deliveredExplanation struct {
	*explain.Explanation

	Deliveries []*report.Report `json:"deliveries,omitempty"`
}

// explanationPrinter writes an explanation as a text. Data have none.
type explanationPrinter = func(w io.Writer, of *explain.Explanation, on printer.Screen) error

// complete checks the flags.
func (o *options) complete(cmd *cobra.Command) (explanationPrinter, time.Time, error) {
	form, known := map[string]explanationPrinter{
		"": printSummary, "wide": printWide, "json": nil, "yaml": nil,
	}[o.output.Form]
	now, err := command.Now(o.now, o.Clock)
	switch {
	case !known:
		return nil, now, o.output.Check()
	case err != nil:
		return nil, now, err
	case o.now != "" && !o.Offline():
		return nil, now, errors.New("--now needs files: a hub explains the run that it made; give files with -f")
	case cmd.Flags().Changed("cluster") && o.cluster == "":
		return nil, now, errors.New("--cluster is empty: name a cluster")
	case o.cluster != "" && o.output.Form == "wide":
		return nil, now, errors.New("--cluster and -o wide exclude each other: leave one of them out")
	case o.cluster != "" && o.output.Form == "":
		form = printClusterReport
	}
	return form, now, nil
}

func (o *options) run(ctx context.Context, name string, now time.Time, form explanationPrinter) error {
	ask := func() (*explain.Explanation, error) { return o.explainFromFiles(ctx, name, now) }
	if !o.Offline() {
		ask = func() (*explain.Explanation, error) { return o.explainFromHub(ctx, name) }
	}
	found, err := ask()
	if err != nil {
		return err
	}
	key := found.Key()
	delivered, err := o.deliveries(ctx, key.Namespace, key.Name, now)
	if err != nil { // the explanation of the placement is worth having
		printer.Printf(o.Streams.ErrOut, "note: the delivery is not shown: %s\n", err)
	}
	return printer.WriteBuffered(o.Streams.Out, func(w io.Writer) error {
		if form == nil {
			return printer.WriteData(w, o.output.Form, deliveredExplanation{found, delivered})
		}
		if err := form(w, found, printer.ScreenOf(o.Streams.Out, os.Getenv)); err != nil {
			return err
		}
		o.printDeliveries(w, delivered, now)
		return nil
	})
}
