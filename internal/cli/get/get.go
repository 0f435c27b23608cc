package get

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// NewCommand returns the command `kubectl berth get`.
func NewCommand(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	o := &options{source: reader.NewFleet(streams, clock)}
	cmd := &cobra.Command{
		Use:               "get placements|clusters|sets|groups [NAME] [flags]",
		Short:             "Show placements, clusters, sets or groups",
		Long:              long,
		Example:           examples,
		ValidArgsFunction: arguments().Complete(completion.Of(o.source.HubFlags)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.complete(args); err != nil {
				return command.NewUsageError(cmd, err)
			}
			if o.watch {
				return o.watchRows(cmd.Context())
			}
			return o.run(cmd.Context())
		},
		DisableFlagsInUseLine: true,
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.all, "all-namespaces", "A", false, "show those of every namespace")
	flags.StringVarP(&o.selector, "selector", "l", "",
		"show those whose `labels` match, such as region=eu; for groups, those of the placement")
	flags.StringVarP(&o.output, "output", "o", "table",
		"`form` of the result: table, wide, json, yaml, name, jsonpath=..., go-template=... or custom-columns=...")
	flags.BoolVar(&o.noHeaders, "no-headers", false, "leave out the titles of columns")
	flags.BoolVar(&o.showLabels, "show-labels", false, "add a column of labels to tables; for groups, those of the placement")
	flags.StringVar(&o.sortBy, "sort-by", "",
		"`path` of the field to order by, such as .metadata.creationTimestamp or .selected (default: by name)")
	flags.BoolVarP(&o.watch, "watch", "w", false, "after that, print every row that changes, until interrupted")
	completion.Register(cmd, "output", completion.Outputs(outputs()))
	command.AddFleetFlags(cmd, o.source)
	completion.Register(cmd, "sort-by",
		cobra.FixedCompletions([]string{".metadata.name", ".metadata.namespace", ".metadata.creationTimestamp"},
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
func (o *options) complete(args []string) error {
	at, name, err := arguments().Parse(args)
	if err != nil {
		return err
	}
	o.resource, o.name = resource.Printers()[at], name
	namespace := o.source.HubFlags.Namespace()
	switch {
	case o.all && o.name != "":
		return errors.New("a name is looked up in one namespace: give -n instead of -A")
	case o.all && namespace != "":
		return errors.New("-A is every namespace and -n is one: give one of them")
	case o.selector != "" && o.name != "":
		return errors.New("give a name or -l, not both")
	case o.watch && o.source.Offline():
		return errors.New("files do not change: --watch needs a hub, so leave out -f")
	case o.watch && !slices.Contains([]string{"table", "wide", "name"}, o.output):
		return fmt.Errorf("--watch prints rows: use it with -o table, wide or name, not %s", o.output)
	case o.watch && o.sortBy != "":
		return errors.New("--watch prints each row when it changes: leave out --sort-by")
	}
	if o.expressionPrinter, err = completeOutput(o.output); err != nil {
		return err
	}
	if o.sortBy != "" {
		if _, err := fieldPath(o.sortBy); err != nil {
			return fmt.Errorf("--sort-by %w", err)
		}
	}
	if o.labels, err = labels.Parse(o.selector); err != nil {
		return fmt.Errorf("-l %q is no label selector: %w", o.selector, err)
	}
	return nil
}

// resolveNamespace finds the namespace to look in; empty for all of them.
func (o *options) resolveNamespace() error {
	if o.all || !o.resource.Object.Namespaced {
		return nil
	}
	var err error
	o.namespace, err = o.source.Namespace()
	return err
}

// scope is what must be read.
func (o *options) scope() reader.Scope {
	out := reader.Scope{Kinds: o.resource.Kinds, Namespace: o.namespace, Uncompiled: true}
	if o.resource.Object.Kind == reader.ClusterKind().Kind {
		out.Cluster = o.name
	}
	return out
}

func (o *options) run(ctx context.Context) error {
	if err := o.resolveNamespace(); err != nil {
		return err
	}
	bundle, err := o.source.Load(ctx, o.scope())
	if err != nil {
		return err
	}
	rows := o.matchingRows(bundle)
	if len(rows) == 0 {
		if err := o.source.Nothing(o.singular(), o.resource.Plural(), o.name, o.namespace); err != nil {
			return err
		}
	}
	if o.sortBy != "" {
		if err := sortBy(rows, o.sortBy); err != nil {
			return err
		}
	}
	return printer.WriteBuffered(o.source.Streams.Out, func(w io.Writer) error { return o.write(w, rows) })
}

// matchingRows returns the rows that match the name, the namespace and the labels of the command line.
func (o *options) matchingRows(bundle *file.Bundle) []resource.Row {
	return slices.DeleteFunc(o.resource.Rows(bundle, o.source.Clock.Now()), func(row resource.Row) bool {
		return o.name != "" && row.Name != o.name || o.namespace != "" && row.Namespace != o.namespace ||
			!o.labels.Matches(labels.Set(row.Labels))
	})
}

// singular is what a name names.
func (o *options) singular() string {
	if o.resource.Singular() == "group" {
		return "group of a placement"
	}
	return o.resource.Singular()
}
