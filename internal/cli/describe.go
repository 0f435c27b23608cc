package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
)

const describeLong = `Show all that is known of one object, as kubectl describe does: its facts, its conditions, and what happened to it last.

  placement   clusters selected of those wanted, decision groups, the last changes of its decisions
  cluster     what it reports, taints, claims, sets, the placements that have chosen it
  set         how members are picked, how many there are, the namespaces it is bound to
  binding     the set that it binds to its namespace

Without a name every object of the kind is described, of one namespace where it has one. The last changes come from the
manager, events from the API server; files have neither.

For why a cluster is selected or not see "kubectl berth explain".`

const describeExamples = `  kubectl berth describe placement web -n shop
  kubectl berth describe managedcluster/eu-1
  kubectl berth describe set gold -f fleet.yaml`

// describe is the command line of `kubectl berth describe`.
type describe struct {
	world *world

	// kind and name are what the command line means; an empty name is every object of the kind.
	kind      describedKind
	name      string
	namespace string
}

func newDescribe(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	d := &describe{world: newWorld(streams, clock)}
	cmd := &cobra.Command{
		Use:               "describe placement|cluster|set|binding [NAME] [flags]",
		Short:             "Show all that is known of a placement, cluster, set or binding",
		Long:              describeLong,
		Example:           describeExamples,
		ValidArgsFunction: d.completeArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := d.complete(args); err != nil {
				return usageError{cmd, err}
			}
			return d.run(cmd.Context())
		},
		DisableFlagsInUseLine: true,
	}
	d.world.addFlags(cmd.Flags())
	d.world.hubFlags.completeHubFlags(cmd)
	return cmd
}

// completeArguments names kinds, then objects of one.
func (d *describe) completeArguments(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	var out []string
	switch len(args) {
	case 0:
		for _, described := range describedKinds() {
			out = append(out, described.kind.plural())
		}
		out = starting(out, start)
	case 1:
		if described, known := describedBy(args[0]); known {
			out = d.world.hubFlags.suggest(cmd.Context(), described.kind, start)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// complete reads the arguments.
func (d *describe) complete(args []string) error {
	const most = 2
	args = kindAndName(args)
	switch {
	case len(args) == 0:
		return errors.New("say what to describe: placement, cluster, set or binding, and its name")
	case len(args) > most:
		return fmt.Errorf("unexpected argument %q: one name at a time", args[most])
	case len(args) == most:
		d.name = args[1]
	}
	var known bool
	if d.kind, known = describedBy(args[0]); !known {
		var all [][]string
		for _, described := range describedKinds() {
			all = append(all, described.kind.names)
		}
		return unknownKind(args[0], "use placement, cluster, set or binding", all...)
	}
	return nil
}

func (d *describe) run(ctx context.Context) error {
	var err error
	if d.kind.kind.namespaced {
		if d.namespace, err = d.world.namespace(); err != nil {
			return err
		}
	}
	of := reach{kinds: d.kind.reads, namespace: d.namespace, undecided: true}
	if d.kind.kind.kind == clusterKind().kind {
		of.cluster = d.name
	}
	bundle, err := d.world.bundle(ctx, of)
	if err != nil {
		return err
	}
	var found []described
	for _, object := range d.kind.describe(bundle, d.world.clock.Now()) {
		if (d.name == "" || object.name == d.name) && (d.namespace == "" || !d.kind.kind.namespaced || object.namespace == d.namespace) {
			found = append(found, object)
		}
	}
	if len(found) == 0 {
		return d.nothing()
	}
	if err := d.addPast(ctx, found); err != nil {
		return err
	}
	return d.write(found)
}

// write prints what was found, one object below the other.
func (d *describe) write(found []described) error {
	return emit(d.world.streams.Out, func(w io.Writer) error {
		on := screen{colours: screenOf(d.world.streams.Out, os.Getenv).colours} // nothing is cut here
		for i, object := range found {
			if i > 0 {
				fmt.Fprint(w, "\n\n")
			}
			if err := object.write(w, on, d.world.clock.Now()); err != nil {
				return err
			}
		}
		return nil
	})
}

// nothing reports that there is nothing to describe.
func (d *describe) nothing() error {
	where := ""
	switch {
	case d.namespace != "":
		where = " in the namespace " + d.namespace
	case d.world.offline():
		where = " in the files"
	}
	if d.name != "" {
		return fmt.Errorf("there is no %s %q%s", d.kind.kind.singular(), d.name, where)
	}
	_, err := fmt.Fprintf(d.world.streams.ErrOut, "no %s%s\n", d.kind.kind.plural(), where)
	return err
}

// maxPast is how many objects are described together with what happened to them: each takes two requests.
const maxPast = 20

// addPast adds what happened to objects of a hub last.
func (d *describe) addPast(ctx context.Context, to []described) error {
	if d.world.offline() || len(to) > maxPast {
		return nil
	}
	h, err := d.world.open()
	if err != nil {
		return err
	}
	defer h.progress.done()
	for i := range to {
		object := &to[i]
		object.past = true
		h.progress.update("the events of "+object.name, 0)
		if d.kind.kind.kind == placementKind().kind {
			object.history, object.noHistory = h.lastChanges(ctx, object.namespace, object.name)
		}
		object.events, object.noEvents = h.events(ctx, d.kind.kind, object.namespace, object.name)
	}
	return nil
}

// fact is a line of a description: a name, and what is known. More values of one name stand below each other.
type fact struct {
	title  string
	values []string
}

func factOf(title string, values ...string) fact { return fact{title, values} }

// factsOf shows a map as kubectl does, a line for each entry.
func factsOf(title string, of map[string]string) fact {
	out := fact{title: title}
	for _, key := range sortedKeys(of) {
		out.values = append(out.values, key+"="+of[key])
	}
	return out
}

// writeFacts writes facts in two columns; what is empty is <none>, as in kubectl.
func writeFacts(w io.Writer, in []fact) error {
	shown := newTable(w, "")
	for _, f := range in {
		title := f.title + ":"
		if strings.Join(f.values, "") == "" {
			shown.row(title, absent)
			continue
		}
		for _, value := range f.values {
			shown.row(title, value)
			title = ""
		}
	}
	return shown.Flush()
}
