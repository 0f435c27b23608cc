package holds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/internal/kube/hold"
	"github.com/berth-project/berth/internal/source/page"
)

const listLong = `List what Berth holds back: wanted changes that do not happen, each with its cause, since and until when, and the command
that ends it.

| type | what is held back, and why |
|---|---|
| Breach | no more clusters of a set of works start, since more failed or were lost than maxFailures tolerates |
| UnprovenGroup | no later group of a set of works starts, since no cluster of a mandatory group has succeeded |
| MissingClusters | a rollout does not finish, since clusters that have to get the template are not selected any more |
| Edit | the clusters of a placement stay, since its last edit would leave none of them |
| Expression | clusters of a placement stay for a time, since an expression fails on them because a claim or score is missing |
| Reference | the clusters of a placement stay, since its last edit names a set, key, name or score that no cluster has |
| Selector | the members of a ManagedClusterSet stay, since its last edit would take every one of them away |
| Brake | clusters stay selected, since too many would leave at once by their labels, claims, scores or taints |
| Grace | clusters stay selected for seconds, since a set, a binding, a label or a claim is gone by which they were selected |

Objects without a namespace are listed with ` + "`-A`" + `. You need the permission to list manifestworkreplicasets, placements and
managedclustersets. What you may not list is left out, and said so. Graces are read from the manager.`

// listOptions is the command line of `kubectl berth holds`.
type listOptions struct {
	streams genericiooptions.IOStreams
	clock   clock.PassiveClock
	flags   *reader.HubFlags
	output  command.OutputFlag
	all     bool
}

// NewCommand returns the command `kubectl berth holds`.
func NewCommand(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	o := &listOptions{streams: streams, clock: clock, flags: reader.NewHubFlags()}
	cmd := &cobra.Command{
		Use: "holds [flags]", Short: "List what is held back, and end it", Long: listLong,
		Example: "  # Everything on this hub that waits for a person\n  kubectl berth holds -A",
		Args:    command.UnknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return command.NewUsageError(cmd, err)
			}
			return o.run(cmd.Context())
		},
		DisableFlagsInUseLine: true,
	}
	o.output.Add(cmd, "`form` of the result: table, yaml or json", "table", "yaml", "json")
	cmd.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "list those of every namespace")
	command.AddHubFlags(cmd, o.flags)
	cmd.AddCommand(newRelease(streams, clock))
	return cmd
}

func (o *listOptions) check() error {
	if o.all && o.flags.Namespace() != "" {
		return errors.New("-A is every namespace and -n is one: give one of them")
	}
	return o.output.Check()
}

func (o *listOptions) run(ctx context.Context) error {
	hub, key, err := rollouts.Caller{Flags: o.flags, ErrOut: o.streams.ErrOut}.Connect("")
	if err != nil {
		return err
	}
	if o.all {
		key.Namespace = ""
	}
	found, hidden, err := find(ctx, hub, key.Namespace)
	if err != nil {
		return err
	}
	graces, err := o.graces(ctx, key.Namespace)
	if err != nil {
		printer.Printf(o.streams.ErrOut, "Warning: graces are not shown: %s\n", err)
	}
	found = append(found, graces...)
	sort(found)
	for _, why := range hidden {
		printer.Printf(o.streams.ErrOut, "Warning: %s, so their holds are not shown\n", why)
	}
	return printer.WriteBuffered(o.streams.Out, func(w io.Writer) error {
		if o.output.Form != "table" {
			return printer.WriteData(w, o.output.Form, hold.List{Kind: hold.ListKind, Holds: found})
		}
		return o.print(w, found)
	})
}

// graces returns the graces of a namespace, or of all where it is empty.
func (o *listOptions) graces(ctx context.Context, namespace string) ([]hold.Hold, error) {
	hub, err := o.flags.Connect(io.Discard, nil)
	if err != nil {
		return nil, err
	}
	out, err := hub.ListGraces(ctx, namespace)
	if err != nil {
		return nil, hub.ViewError(err, "reading graces")
	}
	return slices.DeleteFunc(out, func(h hold.Hold) bool { return namespace != "" && h.Namespace == "" }), nil
}

// sort puts holds in the order of their objects.
func sort(found []hold.Hold) {
	slices.SortStableFunc(found, func(a, b hold.Hold) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Object(), b.Object()))
	})
}

// find returns the holds that are stored, of a namespace, or of all where it is empty. Hidden has the reason for each kind that the user
// may not list or whose definition is missing; it is an error if these are all.
func find(ctx context.Context, hub client.Reader, namespace string) (found []hold.Hold, hidden []string, err error) {
	out, listers := []hold.Hold{}, listersOf(hub, namespace)
	for _, lister := range listers {
		err := lister.list(ctx, func(holds ...hold.Hold) { out = append(out, holds...) })
		switch {
		case apierrors.IsForbidden(err):
			hidden = append(hidden, "you may not list "+lister.kind)
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			hidden = append(hidden, "the hub has no definition of "+lister.kind)
		case err != nil:
			return nil, nil, fmt.Errorf("listing %s: %w", lister.kind, err)
		}
		if len(hidden) == len(listers) {
			return nil, nil, fmt.Errorf("listing %s: %w", lister.kind, err)
		}
	}
	return out, hidden, nil
}

// lister lists the holds of a kind.
type lister struct {
	kind string
	list func(ctx context.Context, add func(...hold.Hold)) error
}

// listersOf returns the lister of each kind. Cluster sets are in no namespace.
func listersOf(hub client.Reader, namespace string) []lister {
	in := client.InNamespace(namespace)
	out := []lister{
		{"manifestworkreplicasets", func(ctx context.Context, add func(...hold.Hold)) error {
			return page.Each(ctx, hub, &workv1alpha1.ManifestWorkReplicaSetList{}, func(list *workv1alpha1.ManifestWorkReplicaSetList) error {
				for i := range list.Items {
					add(report.Holds(&list.Items[i])...)
				}
				return nil
			}, in)
		}},
		{"placements", func(ctx context.Context, add func(...hold.Hold)) error {
			return page.Each(ctx, hub, &clusterv1beta1.PlacementList{}, func(list *clusterv1beta1.PlacementList) error {
				for i := range list.Items {
					add(hold.OfPlacement(&list.Items[i])...)
				}
				return nil
			}, in)
		}},
	}
	if namespace != "" {
		return out
	}
	return append(out, lister{"managedclustersets", func(ctx context.Context, add func(...hold.Hold)) error {
		return page.Each(ctx, hub, &clusterv1beta2.ManagedClusterSetList{}, func(list *clusterv1beta2.ManagedClusterSetList) error {
			for i := range list.Items {
				add(hold.OfClusterSet(&list.Items[i])...)
			}
			return nil
		})
	}})
}

// print writes a block for each hold: causes and commands are longer than a column.
func (o *listOptions) print(w io.Writer, found []hold.Hold) error {
	if len(found) == 0 {
		printer.Printf(o.streams.ErrOut, "nothing is held back\n")
		if !o.all {
			printer.Printf(o.streams.ErrOut, "note: sets and clusters are of no namespace: -A lists their holds too, such as a brake\n")
		}
		return nil
	}
	screen := printer.ScreenOf(o.streams.Out, os.Getenv)
	for i := range found {
		h := &found[i]
		if i > 0 {
			printer.Printf(w, "\n")
		}
		table := printer.NewTable(w, "")
		table.Screen = screen
		table.Row("hold", string(h.Type))
		table.Row("object", strings.TrimSuffix(h.Object()+" in "+h.Namespace, " in "))
		table.Row("since", printer.Age(h.Since, o.clock.Now()))
		if h.Until != nil {
			table.Row("until", printer.FormatTime(h.Until.Time))
		}
		if err := table.Flush(); err != nil {
			return err //nolint:wrapcheck // the error of the writer
		}
		for _, line := range printer.Wrap(h.Cause, max(screen.Width, minWidth)) {
			printer.Printf(w, "%s\n", line)
		}
		printer.Printf(w, "ends with: %s\n", h.End)
	}
	return nil
}

// minWidth is where a cause is wrapped if the screen has no edge or is narrow.
const minWidth = 80
