package tree

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/rollout"
)

// maxTreeWorks is how many works of a set the tree draws. Data have all.
const maxTreeWorks = 20

// deliveryTree is a placement, or a set alone, with the sets that deliver to its clusters, their works, and the objects of these.
type deliveryTree struct {
	Placement string    `json:"placement,omitempty"`
	Sets      []treeOf  `json:"sets"`
	at        time.Time // when it was read
}

// treeOf is a set with its works.
type treeOf struct {
	Set   string     `json:"set"`
	Phase string     `json:"phase,omitempty"`
	Works []treeWork `json:"works"`
	// Hidden counts the clusters that the reader may not see.
	Hidden int `json:"hidden,omitempty"`
}

// treeWork is a work with the objects that its agent has reported.
type treeWork struct {
	Cluster string            `json:"cluster"`
	Work    string            `json:"work,omitempty"`
	State   rollout.State     `json:"state"`
	Objects []report.Manifest `json:"objects,omitempty"`
}

// deliveryTree reads the tree of a placement or of a set.
func (o *options) deliveryTree(ctx context.Context, kind reader.Kind, name string) (*deliveryTree, error) {
	out := &deliveryTree{Sets: []treeOf{}, at: o.source.Clock.Now()}
	found, namespace, err := o.deliveriesOf(ctx, kind, name)
	if err != nil {
		return nil, err
	}
	if kind.Kind == reader.PlacementKind().Kind {
		out.Placement = namespace + "/" + name
	}
	for _, each := range found {
		read, err := o.reportOf(ctx, each, out.at)
		if err != nil {
			return nil, err
		}
		if out.Placement != "" {
			read.OfPlacement(name)
		}
		set := treeOf{Set: read.Set, Phase: read.Phase, Works: []treeWork{}, Hidden: read.Hidden}
		for _, c := range read.Clusters {
			set.Works = append(set.Works, treeWork{c.Cluster, c.Work, c.State, each.Manifests[c.Cluster]})
		}
		out.Sets = append(out.Sets, set)
	}
	return out, nil
}

// deliveriesOf returns the deliveries of a set, or those to the clusters of a placement, and the namespace that they are in.
func (o *options) deliveriesOf(ctx context.Context, kind reader.Kind, name string) (found []rollouts.Delivery, namespace string,
	err error,
) {
	ofSet := kind.Kind == reader.WorkSetKind().Kind
	if o.source.Offline() {
		bundle, err := o.source.Load(ctx, reader.Scope{Uncompiled: true})
		if err != nil {
			return nil, "", err
		}
		if ofSet {
			one, err := rollouts.FromBundle(bundle, o.source.HubFlags.Namespace(), name)
			return []rollouts.Delivery{one}, "", err
		}
		placement, err := reader.PlacementIn(bundle, o.source.HubFlags.Namespace(), name)
		if err != nil {
			return nil, "", err
		}
		return rollouts.DeliveredBy(bundle, placement.Namespace, name), placement.Namespace, nil
	}
	hub, key, err := o.caller().Connect(name)
	if err != nil {
		return nil, "", err
	}
	names := []string{name}
	if !ofSet {
		if names, err = rollouts.SetsOf(ctx, hub, key.Namespace, name); err != nil {
			return nil, "", err
		}
	}
	for _, set := range names {
		one, err := rollouts.Read(ctx, hub, client.ObjectKey{Namespace: key.Namespace, Name: set})
		if err != nil {
			return nil, "", err
		}
		found = append(found, one)
	}
	return found, key.Namespace, nil
}

// caller is the user of the command.
func (o *options) caller() rollouts.Caller {
	return rollouts.Caller{Flags: o.source.HubFlags, ErrOut: o.source.Streams.ErrOut}
}

// reportOf returns the report of a delivery. Where the works are hidden, the manager serves the clusters that the caller may see.
func (o *options) reportOf(ctx context.Context, of rollouts.Delivery, now time.Time) (*report.Report, error) {
	if of.WorksHidden && !o.source.Offline() {
		found, err := o.caller().View(ctx, client.ObjectKeyFromObject(of.Set))
		if err == nil {
			printer.Printf(o.source.Streams.ErrOut, "note: you may not list manifestworks, so the objects of the works are left out\n")
			return found, nil
		}
		printer.Printf(o.source.Streams.ErrOut, "note: you may not list manifestworks, so the works are left out: %s\n", err)
	}
	out, err := rollouts.NewReport(of, now)
	return &out, err
}

// runDelivery draws the tree of a placement or of a set.
func (o *options) runDelivery(ctx context.Context, kind reader.Kind, name string) error {
	found, err := o.deliveryTree(ctx, kind, name)
	if err != nil {
		return err
	}
	return printer.WriteBuffered(o.source.Streams.Out, func(w io.Writer) error {
		if o.output.Form != "table" {
			return printer.WriteData(w, o.output.Form, found)
		}
		return found.print(w, printer.ScreenOf(o.source.Streams.Out, os.Getenv))
	})
}

// print draws the tree.
func (d *deliveryTree) print(w io.Writer, on printer.Screen) error {
	indent := ""
	if d.Placement != "" {
		printer.Printf(w, "%s: %s to its clusters\n", d.Placement, deliver(len(d.Sets)))
		indent = "  "
	}
	for _, set := range d.Sets {
		printer.Printf(w, "%s%s: %s, %s\n", indent, set.Set, cmp.Or(set.Phase, "not planned yet"), phrase.Count(len(set.Works), "cluster"))
		table := printer.NewTable(w, indent+"  ")
		const objectColumn = 0
		table.Screen, table.Flexible = on, []int{objectColumn}
		for i, work := range set.Works {
			if i == maxTreeWorks {
				break
			}
			work.add(table)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		if more := len(set.Works) - maxTreeWorks; more > 0 {
			printer.Printf(w, "%s  and %d more; -o json has all\n", indent, more)
		}
		if set.Hidden > 0 {
			printer.Printf(w, "%s  and %s that you may not see\n", indent, phrase.Count(set.Hidden, "cluster"))
		}
	}
	return nil
}

// deliver counts sets: "1 set delivers", "2 sets deliver".
func deliver(sets int) string {
	if sets == 1 {
		return "1 set delivers"
	}
	return fmt.Sprintf("%d sets deliver", sets)
}

// add adds a work and its objects to a table.
func (t *treeWork) add(table *printer.Table) {
	table.Row(t.Cluster, string(t.State), cmp.Or(t.Work, "no work yet"))
	for _, object := range t.Objects {
		table.Row("  "+object.Object, status("applied", object.Applied)+", "+status("available", object.Available))
	}
}

// status words the status of a condition: "applied", "not applied", "applied unknown".
func status[S ~string](word string, is S) string {
	switch is {
	case "True":
		return word
	case "False":
		return "not " + word
	default:
		return word + " unknown"
	}
}
