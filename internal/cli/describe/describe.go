package describe

import (
	"context"
	"fmt"
	"io"
	"os"

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

// NewCommand returns the command `kubectl berth describe`.
func NewCommand(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	o := &options{source: reader.NewFleet(streams, clock)}
	cmd := &cobra.Command{
		Use:               "describe placement|cluster|set|binding [NAME] [flags]",
		Short:             "Show all that is known of a placement, cluster, set or binding",
		Long:              long,
		Example:           examples,
		ValidArgsFunction: arguments().Complete(completion.Of(o.source.HubFlags)),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, name, err := arguments().Parse(args)
			if err != nil {
				return command.NewUsageError(cmd, err)
			}
			o.kind, o.name = describableKinds()[at], name
			return o.run(cmd.Context())
		},
		DisableFlagsInUseLine: true,
	}
	command.AddFleetFlags(cmd, o.source)
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

func (o *options) run(ctx context.Context) error {
	var err error
	if o.kind.kind.Namespaced {
		if o.namespace, err = o.source.Namespace(); err != nil {
			return err
		}
	}
	of := reader.Scope{Kinds: o.kind.reads, Namespace: o.namespace, Uncompiled: true}
	if o.kind.kind.Kind == reader.ClusterKind().Kind {
		of.Cluster = o.name
	}
	bundle, err := o.source.Load(ctx, of)
	if err != nil {
		return err
	}
	var found []description
	for _, object := range o.kind.describe(bundle, o.source.Clock.Now()) {
		if (o.name == "" || object.name == o.name) && (o.namespace == "" || !o.kind.kind.Namespaced || object.namespace == o.namespace) {
			found = append(found, object)
		}
	}
	if len(found) == 0 {
		return o.source.Nothing(o.kind.kind.Singular(), o.kind.kind.Plural(), o.name, o.namespace)
	}
	if err := o.addHistory(ctx, found); err != nil {
		return err
	}
	return o.write(found)
}

// write prints what was found, one object below the other.
func (o *options) write(found []description) error {
	return printer.WriteBuffered(o.source.Streams.Out, func(w io.Writer) error {
		on := printer.Screen{Colors: printer.ScreenOf(o.source.Streams.Out, os.Getenv).Colors} // nothing is cut here
		for i, object := range found {
			if i > 0 {
				fmt.Fprint(w, "\n\n")
			}
			if err := object.write(w, on, o.source.Clock.Now()); err != nil {
				return err
			}
		}
		return nil
	})
}

// maxWithHistory is how many objects are described together with what happened to them: each takes two requests.
const maxWithHistory = 20

// addHistory adds what happened to objects of a hub last.
func (o *options) addHistory(ctx context.Context, to []description) error {
	if o.source.Offline() || len(to) > maxWithHistory {
		return nil
	}
	h, err := o.source.Connect()
	if err != nil {
		return err
	}
	defer h.Progress.Done()
	for i := range to {
		object := &to[i]
		object.showHistory = true
		h.Progress.Update("the events of "+object.name, 0)
		if o.kind.kind.Kind == reader.PlacementKind().Kind {
			object.history, object.historyErr = h.History(ctx, object.namespace, object.name)
		}
		object.events, object.eventsErr = h.Events(ctx, o.kind.kind, object.namespace, object.name)
	}
	return nil
}
