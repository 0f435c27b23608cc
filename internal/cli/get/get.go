package get

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/cli/resource"
	"github.com/berth-project/berth/internal/source/file"
)

const long = `Show the objects of a hub or of files:

  placements (pl)            satisfied or why not, how many clusters are selected of those wanted, groups, clusters that a
                             disruption policy holds, the last change of what was decided; Disabled, Terminating or Orphaned
                             (deleted, but its decisions stayed) where Berth does not decide it
  clusters (mcl)             accepted, available and since when, taints, sets, how many placements selected it, its resources
  sets (mclset, clusterset)  how members are picked, how many there are, the namespaces it is bound to, conflicts
  groups (gr)                each decision group of a placement: its clusters, and the slices that hold them

Without the permission to list the hub, clusters and sets are those that you may see, from the views of the manager; a note
on standard error reports this. --watch does not read the views.

Placements and groups are those of one namespace, or with -A of all. Files have no current namespace: with -f all are
shown, or those of -n.

On a narrow terminal columns are cut or left out, but never names; -o wide shows more, a pipe gets everything. yaml and json
give the same facts in full, with times instead of ages, in a list under the name of the kind. --watch continues and prints
each row that changes.

jsonpath, go-template, custom-columns and --sort-by read the same facts. They find them under .items, as in kubectl, with
.metadata.name, .metadata.namespace, .metadata.labels and .metadata.creationTimestamp; with a name, the object is the whole
document.`

const examples = `  # Are the placements of this namespace satisfied? Of all?
  kubectl berth get placements
  kubectl berth get pl -A

  # Follow one while it changes
  kubectl berth get placement web -n shop --watch

  # The clusters of one region, with more about each
  kubectl berth get clusters -l region=eu -o wide

  # The names of the placements that are not satisfied; the clusters with the most memory last
  kubectl berth get pl -o jsonpath='{.items[?(@.satisfied!="True")].metadata.name}'
  kubectl berth get clusters --sort-by=.memory -o custom-columns=NAME:.metadata.name,MEMORY:.memory

  # What was saved from a hub
  kubectl berth get sets -f fleet.yaml

  # Clusters that no placement selected
  kubectl berth get clusters -o json | jq -r '.clusters[] | select(.placements == 0) | .name'`

// options is the command line of `kubectl berth get`.
type options struct {
	source *reader.Fleet

	all      bool
	selector string
	output   string
	sortBy   string
	watch    bool
	// noHeaders leaves the titles of columns out, showLabels adds a column of labels.
	noHeaders, showLabels bool

	// resource, name, labels and namespace are what the command line means.
	resource  resource.Printer
	name      string
	labels    labels.Selector
	namespace string
	// expressionPrinter writes rows by the expression in output; nil where it has none.
	expressionPrinter rowsPrinter
}

func NewCommand(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	g := &options{source: reader.NewFleet(streams, clock)}
	cmd := &cobra.Command{
		Use:               "get placements|clusters|sets|groups [NAME] [flags]",
		Short:             "Show placements, clusters, sets or groups",
		Long:              long,
		Example:           examples,
		ValidArgsFunction: arguments().Complete(completion.Of(g.source.HubFlags)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := g.complete(args); err != nil {
				return command.NewUsageError(cmd, err)
			}
			if g.watch {
				return g.watchRows(cmd.Context())
			}
			return g.run(cmd.Context())
		},
		DisableFlagsInUseLine: true,
	}
	flags := cmd.Flags()
	flags.BoolVarP(&g.all, "all-namespaces", "A", false, "show those of every namespace")
	flags.StringVarP(&g.selector, "selector", "l", "", "show those whose `labels` match, such as region=eu; for groups, those of the placement")
	flags.StringVarP(&g.output, "output", "o", "table", "`form` of the result: table, wide, json, yaml, name, jsonpath=..., go-template=... or custom-columns=...")
	flags.BoolVar(&g.noHeaders, "no-headers", false, "leave out the titles of columns")
	flags.BoolVar(&g.showLabels, "show-labels", false, "add a column of labels to tables; for groups, those of the placement")
	flags.StringVar(&g.sortBy, "sort-by", "", "`path` of the field to order by, such as .metadata.creationTimestamp or .selected (default: by name)")
	flags.BoolVarP(&g.watch, "watch", "w", false, "after that, print every row that changes, until interrupted")
	g.source.AddFlags(flags)
	completion.Register(cmd, "output", completion.Outputs(outputs()))
	completion.Of(g.source.HubFlags).HubFlags(cmd)
	completion.Register(cmd, "sort-by", cobra.FixedCompletions([]string{".metadata.name", ".metadata.namespace", ".metadata.creationTimestamp"},
		cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// arguments are the arguments of the command. Its kinds are those of resource.Printers.
func arguments() command.KindArguments {
	out := command.KindArguments{
		Missing: "say what to show: placements, clusters, sets or groups", Excess: "one name at a time, or -l for several",
		Unknown: "use placements, clusters, sets or groups",
	}
	for _, of := range resource.Printers() {
		out.Kinds = append(out.Kinds, command.NamedKind{Names: of.Names(), Object: of.Object})
	}
	return out
}

// complete checks the command line.
func (g *options) complete(args []string) error {
	at, name, err := arguments().Parse(args)
	if err != nil {
		return err
	}
	g.resource, g.name = resource.Printers()[at], name
	namespace := g.source.HubFlags.Namespace()
	switch {
	case g.all && g.name != "":
		return errors.New("a name is looked up in one namespace: give -n instead of -A")
	case g.all && namespace != "":
		return errors.New("-A is every namespace and -n is one: give one of them")
	case g.selector != "" && g.name != "":
		return errors.New("give a name or -l, not both")
	case g.watch && g.source.Offline():
		return errors.New("files do not change: --watch needs a hub, so leave out -f")
	case g.watch && !slices.Contains([]string{"table", "wide", "name"}, g.output):
		return fmt.Errorf("--watch prints rows: use it with -o table, wide or name, not %s", g.output)
	case g.watch && g.sortBy != "":
		return errors.New("--watch prints each row when it changes: leave out --sort-by")
	}
	if g.expressionPrinter, err = completeOutput(g.output); err != nil {
		return err
	}
	if g.sortBy != "" {
		if _, err := fieldPath(g.sortBy); err != nil {
			return fmt.Errorf("--sort-by %w", err)
		}
	}
	if g.labels, err = labels.Parse(g.selector); err != nil {
		return fmt.Errorf("-l %q is no label selector: %w", g.selector, err)
	}
	return nil
}

// resolveNamespace finds the namespace to look in; empty for all of them.
func (g *options) resolveNamespace() error {
	if g.all || !g.resource.Object.Namespaced {
		return nil
	}
	var err error
	g.namespace, err = g.source.Namespace()
	return err
}

// scope is what must be read.
func (g *options) scope() reader.Scope {
	out := reader.Scope{Kinds: g.resource.Kinds, Namespace: g.namespace, Uncompiled: true}
	if g.resource.Object.Kind == reader.ClusterKind().Kind {
		out.Cluster = g.name
	}
	return out
}

func (g *options) run(ctx context.Context) error {
	if err := g.resolveNamespace(); err != nil {
		return err
	}
	bundle, err := g.source.Load(ctx, g.scope())
	if err != nil {
		return err
	}
	rows := g.matchingRows(bundle)
	if len(rows) == 0 {
		if err := g.source.Nothing(g.singular(), g.resource.Plural(), g.name, g.namespace); err != nil {
			return err
		}
	}
	if g.sortBy != "" {
		if err := sortBy(rows, g.sortBy); err != nil {
			return err
		}
	}
	return printer.WriteBuffered(g.source.Streams.Out, func(w io.Writer) error { return g.write(w, rows) })
}

// matchingRows returns the rows that match the name, the namespace and the labels of the command line.
func (g *options) matchingRows(bundle *file.Bundle) []resource.Row {
	return slices.DeleteFunc(g.resource.Rows(bundle, g.source.Clock.Now()), func(row resource.Row) bool {
		return g.name != "" && row.Name != g.name || g.namespace != "" && row.Namespace != g.namespace ||
			!g.labels.Matches(labels.Set(row.Labels))
	})
}

// singular is what a name names.
func (g *options) singular() string {
	if g.resource.Singular() == "group" {
		return "group of a placement"
	}
	return g.resource.Singular()
}

func (g *options) write(w io.Writer, rows []resource.Row) error {
	if g.expressionPrinter != nil {
		return g.expressionPrinter(w, g, rows)
	}
	switch g.output {
	case "name":
		for _, row := range rows {
			printer.Printf(w, "%s\n", row.ResourceName(g.resource))
		}
		return nil
	case "json", "yaml":
		return printInfos(w, g.output, g.resource.Plural(), rows)
	default:
		if len(rows) == 0 {
			return nil
		}
		shown := g.table(w)
		g.header(shown)
		g.addRows(shown, rows)
		return shown.Flush()
	}
}

// printInfos writes the data of rows as a list under a title.
func printInfos(w io.Writer, form, title string, rows []resource.Row) error {
	facts := []any{}
	for _, row := range rows {
		facts = append(facts, row.Info)
	}
	return printer.WriteData(w, form, map[string]any{title: facts})
}

// table returns a table of the screen that the command writes to.
func (g *options) table(w io.Writer) *printer.Table {
	out := printer.NewTable(w, "")
	out.Screen = printer.ScreenOf(g.source.Streams.Out, os.Getenv)
	at := len(g.nameColumns())
	var optional, wide []int // the last go first
	for _, c := range g.resource.Columns {
		if c.Wide && g.output != "wide" {
			continue
		}
		if c.Flexible {
			out.Flexible = append(out.Flexible, at)
		}
		switch {
		case c.Wide:
			wide = append([]int{at}, wide...)
		case c.Optional:
			optional = append([]int{at}, optional...)
		}
		at++
	}
	if g.output == "wide" {
		out.DropLast = slices.Concat(optional, wide)
	} else {
		out.Optional = optional
	}
	if g.showLabels {
		out.Flexible = append(out.Flexible, at)
	}
	return out
}

// nameColumns returns the titles of the columns that name a thing.
func (g *options) nameColumns() []string {
	var out []string
	if g.resource.Object.Namespaced && g.namespace == "" {
		out = append(out, "NAMESPACE")
	}
	if g.resource.Singular() == "group" {
		return append(out, "PLACEMENT")
	}
	return append(out, "NAME")
}

func (g *options) header(to *printer.Table) {
	if g.noHeaders {
		return
	}
	titles := g.nameColumns()
	for _, c := range g.resource.Columns {
		if !c.Wide || g.output == "wide" {
			titles = append(titles, c.Title)
		}
	}
	if g.showLabels {
		titles = append(titles, "LABELS")
	}
	to.Row(titles...)
}

func (g *options) addRows(to *printer.Table, rows []resource.Row) {
	for _, row := range rows {
		cells := printer.PlainCells(row.Name)
		if len(g.nameColumns()) > 1 {
			cells = printer.PlainCells(row.Namespace, row.Name)
		}
		for i, c := range g.resource.Columns {
			if !c.Wide || g.output == "wide" {
				cells = append(cells, row.Cells[i])
			}
		}
		if g.showLabels {
			cells = append(cells, labelsCell(row.Labels))
		}
		to.Add(cells)
	}
}
