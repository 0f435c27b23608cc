package describe

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
)

const long = `Show all that is known of one object, as kubectl describe does: its facts, its conditions, and what happened to it last.

  placement   clusters selected of those wanted, decision groups, the last changes of its decisions
  cluster     what it reports, taints, claims, sets, the placements that selected it
  set         how members are picked, how many there are, the namespaces it is bound to
  binding     the set that it binds to its namespace

Without a name every object of the kind is described, of one namespace where it has one. The last changes come from the
manager, events from the API server; files have neither.

For why a cluster is selected or not see "kubectl berth explain".`

const examples = `  kubectl berth describe placement web -n shop
  kubectl berth describe managedcluster/eu-1
  kubectl berth describe set gold -f fleet.yaml`

// options is the command line of `kubectl berth describe`.
type options struct {
	source *reader.Fleet

	// kind and name are what the command line means; an empty name is every object of the kind.
	kind      describableKind
	name      string
	namespace string
}

func NewCommand(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	d := &options{source: reader.NewFleet(streams, clock)}
	cmd := &cobra.Command{
		Use:               "describe placement|cluster|set|binding [NAME] [flags]",
		Short:             "Show all that is known of a placement, cluster, set or binding",
		Long:              long,
		Example:           examples,
		ValidArgsFunction: arguments().Complete(completion.Of(d.source.HubFlags)),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, name, err := arguments().Parse(args)
			if err != nil {
				return command.NewUsageError(cmd, err)
			}
			d.kind, d.name = describableKinds()[at], name
			return d.run(cmd.Context())
		},
		DisableFlagsInUseLine: true,
	}
	d.source.AddFlags(cmd.Flags())
	completion.Of(d.source.HubFlags).HubFlags(cmd)
	return cmd
}

// arguments are the arguments of the command. Its kinds are those of describableKinds.
func arguments() command.KindArguments {
	out := command.KindArguments{
		Missing: "say what to describe: placement, cluster, set or binding, and its name", Excess: "one name at a time",
		Unknown: "use placement, cluster, set or binding",
	}
	for _, described := range describableKinds() {
		out.Kinds = append(out.Kinds, command.NamedKind{Names: described.kind.Names, Object: described.kind})
	}
	return out
}

func (d *options) run(ctx context.Context) error {
	var err error
	if d.kind.kind.Namespaced {
		if d.namespace, err = d.source.Namespace(); err != nil {
			return err
		}
	}
	of := reader.Scope{Kinds: d.kind.reads, Namespace: d.namespace, Uncompiled: true}
	if d.kind.kind.Kind == reader.ClusterKind().Kind {
		of.Cluster = d.name
	}
	bundle, err := d.source.Load(ctx, of)
	if err != nil {
		return err
	}
	var found []description
	for _, object := range d.kind.describe(bundle, d.source.Clock.Now()) {
		if (d.name == "" || object.name == d.name) && (d.namespace == "" || !d.kind.kind.Namespaced || object.namespace == d.namespace) {
			found = append(found, object)
		}
	}
	if len(found) == 0 {
		return d.source.Nothing(d.kind.kind.Singular(), d.kind.kind.Plural(), d.name, d.namespace)
	}
	if err := d.addHistory(ctx, found); err != nil {
		return err
	}
	return d.write(found)
}

// write prints what was found, one object below the other.
func (d *options) write(found []description) error {
	return printer.WriteBuffered(d.source.Streams.Out, func(w io.Writer) error {
		on := printer.Screen{Colors: printer.ScreenOf(d.source.Streams.Out, os.Getenv).Colors} // nothing is cut here
		for i, object := range found {
			if i > 0 {
				fmt.Fprint(w, "\n\n")
			}
			if err := object.write(w, on, d.source.Clock.Now()); err != nil {
				return err
			}
		}
		return nil
	})
}

// maxWithHistory is how many objects are described together with what happened to them: each takes two requests.
const maxWithHistory = 20

// addHistory adds what happened to objects of a hub last.
func (d *options) addHistory(ctx context.Context, to []description) error {
	if d.source.Offline() || len(to) > maxWithHistory {
		return nil
	}
	h, err := d.source.Connect()
	if err != nil {
		return err
	}
	defer h.Progress.Done()
	for i := range to {
		object := &to[i]
		object.showHistory = true
		h.Progress.Update("the events of "+object.name, 0)
		if d.kind.kind.Kind == reader.PlacementKind().Kind {
			object.history, object.historyErr = h.History(ctx, object.namespace, object.name)
		}
		object.events, object.eventsErr = h.Events(ctx, d.kind.kind, object.namespace, object.name)
	}
	return nil
}

// descriptionField is a title with its values, one below the other.
type descriptionField struct {
	title  string
	values []string
}

func newField(title string, values ...string) descriptionField {
	return descriptionField{title, values}
}

// mapField shows a map as kubectl does, a line for each entry.
func mapField(title string, of map[string]string) descriptionField {
	out := descriptionField{title: title}
	for _, key := range printer.SortedKeys(of) {
		out.values = append(out.values, key+"="+of[key])
	}
	return out
}

// writeFields writes facts in two columns; what is empty is <none>, as in kubectl.
func writeFields(w io.Writer, in []descriptionField) error {
	shown := printer.NewTable(w, "")
	for _, f := range in {
		title := f.title + ":"
		if strings.Join(f.values, "") == "" {
			shown.Row(title, noneText)
			continue
		}
		for _, value := range f.values {
			shown.Row(title, value)
			title = ""
		}
	}
	return shown.Flush()
}
