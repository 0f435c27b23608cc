package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
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
func (e *options) load(ctx context.Context) (*file.Bundle, error) {
	if e.bundle != nil {
		return e.bundle, nil
	}
	var err error
	e.bundle, err = e.Load(ctx, reader.Scope{})
	return e.bundle, err
}

func NewCommand(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	e := &options{Fleet: reader.NewFleet(streams, clock)}
	cmd := &cobra.Command{
		Use:               "explain [placement|manifestworkreplicaset|manifestwork] NAME [CLUSTER] [flags]",
		Short:             "Show why each cluster is selected or not, and how far its delivery is",
		Long:              long,
		Example:           examples,
		Args:              checkArguments,
		ValidArgsFunction: e.completeTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			form, now, err := e.complete(cmd)
			if err != nil {
				return command.NewUsageError(cmd, err)
			}
			target, err := parseTarget(args)
			if err != nil {
				return command.NewUsageError(cmd, err)
			}
			e.cluster = cmp.Or(target.cluster, e.cluster)
			switch target.kind.Kind {
			case reader.WorkSetKind().Kind:
				return e.explainSet(cmd.Context(), target.name, now)
			case reader.WorkKind().Kind:
				return e.explainWork(cmd.Context(), target.name, now)
			default:
				return e.run(cmd.Context(), target.name, now, form)
			}
		},
		DisableFlagsInUseLine: true,
	}
	// pflag keeps the first flag of a name, so this one replaces kubectl's --cluster, an entry of the kubeconfig.
	cmd.Flags().StringVar(&e.cluster, "cluster", "", "`name` of a cluster to explain in full")
	cmd.Flags().StringVar(&e.now, "now", "", "with files, the `instant` to decide for, such as 2026-11-20T10:00:00Z (default: now)")
	e.output.Add(cmd, "`form` of the answer: wide, json or yaml (default: a summary)", "", "wide", "json", "yaml")
	e.AddFlags(cmd.Flags())
	completion.Of(e.HubFlags).HubFlags(cmd, "cluster")
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
func (e *options) complete(cmd *cobra.Command) (explanationPrinter, time.Time, error) {
	form, known := map[string]explanationPrinter{
		"": printSummary, "wide": printWide, "json": nil, "yaml": nil,
	}[e.output.Form]
	now, err := command.Now(e.now, e.Clock)
	switch {
	case !known:
		return nil, now, e.output.Check()
	case err != nil:
		return nil, now, err
	case e.now != "" && !e.Offline():
		return nil, now, errors.New("--now needs files: a hub explains the run that it made; give files with -f")
	case cmd.Flags().Changed("cluster") && e.cluster == "":
		return nil, now, errors.New("--cluster is empty: name a cluster")
	case e.cluster != "" && e.output.Form == "wide":
		return nil, now, errors.New("--cluster and -o wide exclude each other: leave one of them out")
	case e.cluster != "" && e.output.Form == "":
		form = printClusterReport
	}
	return form, now, nil
}

func (e *options) run(ctx context.Context, name string, now time.Time, form explanationPrinter) error {
	ask := func() (*explain.Explanation, error) { return e.explainFromFiles(ctx, name, now) }
	if !e.Offline() {
		ask = func() (*explain.Explanation, error) { return e.explainFromHub(ctx, name) }
	}
	found, err := ask()
	if err != nil {
		return err
	}
	key := found.Key()
	delivered, err := e.deliveries(ctx, key.Namespace, key.Name, now)
	if err != nil { // the explanation of the placement is worth having
		printer.Printf(e.Streams.ErrOut, "note: the delivery is not shown: %s\n", err)
	}
	return printer.WriteBuffered(e.Streams.Out, func(w io.Writer) error {
		if form == nil {
			return printer.WriteData(w, e.output.Form, deliveredExplanation{found, delivered})
		}
		if err := form(w, found, printer.ScreenOf(e.Streams.Out, os.Getenv)); err != nil {
			return err
		}
		e.printDeliveries(w, delivered, now)
		return nil
	})
}

// printWide writes a table of every cluster, those first that are nearest to being selected. The names of prioritizers are
// short there.
func printWide(w io.Writer, of *explain.Explanation, on printer.Screen) error {
	table := printer.NewTable(w, "")
	table.Screen = on
	head := []string{"CLUSTER", "VERDICT", "RANK", "TOTAL"}
	for _, by := range of.Prioritizers {
		head = append(head, strings.ToUpper(strings.TrimPrefix(strings.TrimPrefix(by.Name, "ResourceAllocatable"), "AddOn/")))
	}
	table.Flexible = []int{len(head)}
	table.Row(append(head, "WHY")...)
	for _, row := range of.Rows() {
		for _, cluster := range row.Clusters {
			table.Add(wideRow(cluster, len(of.Prioritizers)))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return printHiddenCount(w, of)
}

func wideRow(c *explain.Cluster, prioritizers int) []printer.Cell {
	out := []printer.Cell{{Text: c.Name}, printer.StyledCell(c.Verdict, printer.VerdictStyle(c.Verdict))}
	if c.Rank == 0 {
		out = append(out, printer.Cell{Text: printer.Dash}, printer.Cell{Text: printer.Dash})
	} else {
		out = append(out, printer.Cell{Text: fmt.Sprint(c.Rank)}, printer.Cell{Text: fmt.Sprint(c.Total)})
	}
	for i := range prioritizers {
		text := printer.Dash
		if i < len(c.Scores) {
			text = fmt.Sprintf("%d x %d", c.Scores[i].Value, c.Scores[i].Weight)
		}
		out = append(out, printer.Cell{Text: text})
	}
	why := cmp.Or(c.Shortfall(), c.Why)
	if c.Selected && c.Group != nil && *c.Group != (explain.Group{}) {
		why = cmp.Or(why, c.Group.String())
	}
	return append(out, printer.Cell{Text: cmp.Or(why, printer.Dash)})
}
