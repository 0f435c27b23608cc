package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/delivery/report"
)

// explainSet explains the delivery of a set, or of one of its clusters.
func (o *options) explainSet(ctx context.Context, name string, now time.Time) error {
	found, err := o.setReport(ctx, name, now)
	if err != nil {
		return err
	}
	if o.cluster != "" {
		return o.writeCluster(found, now)
	}
	return o.write(found, func(w io.Writer, on printer.Screen) error {
		if o.output.Form == "wide" {
			return rollouts.PrintTable(w, found, on, now, true)
		}
		rollouts.PrintExplanation(w, found, on, now)
		return nil
	})
}

// writeCluster writes the report of one cluster.
func (o *options) writeCluster(of *report.Report, now time.Time) error {
	c, ok := of.Find(o.cluster)
	if !ok {
		return fmt.Errorf("the set %s delivers nothing to a cluster %s: no placement of it selects it, and it has no work there", of.Set,
			o.cluster)
	}
	return o.write(c, func(w io.Writer, on printer.Screen) error {
		rollouts.PrintCluster(w, of.Set, c, on, now)
		return nil
	})
}

// write writes a value as data, or as a text for a screen.
func (o *options) write(value any, text func(io.Writer, printer.Screen) error) error {
	return printer.WriteBuffered(o.Streams.Out, func(w io.Writer) error {
		if o.output.Form == "json" || o.output.Form == "yaml" {
			return printer.WriteData(w, o.output.Form, value)
		}
		return text(w, printer.ScreenOf(o.Streams.Out, os.Getenv))
	})
}

// setReport returns the report of a set: from files, from the works that the caller may list, or from the manager, which serves the
// clusters that the caller may see.
func (o *options) setReport(ctx context.Context, name string, now time.Time) (*report.Report, error) {
	if o.Offline() {
		bundle, err := o.load(ctx)
		if err != nil {
			return nil, err
		}
		found, err := rollouts.FromBundle(bundle, o.HubFlags.Namespace(), name)
		if err != nil {
			return nil, err
		}
		return o.bundleReport(found, now)
	}
	hub, key, err := o.caller().Connect(name)
	if err != nil {
		return nil, err
	}
	return o.caller().Report(ctx, hub, key, now)
}

// caller is the user of the command.
func (o *options) caller() rollouts.Caller {
	return rollouts.Caller{Flags: o.HubFlags, ErrOut: o.Streams.ErrOut}
}

// bundleReport returns the report of a set from files.
func (o *options) bundleReport(found rollouts.Delivery, now time.Time) (*report.Report, error) {
	if found.WorksHidden {
		printer.Printf(o.Streams.ErrOut,
			"note: the files have no ManifestWork of the set %s/%s, or no ManagedCluster for its overrides, so clusters are not listed one by "+
				"one\n", found.Set.Namespace, found.Set.Name)
	}
	out, err := rollouts.NewReport(found, now)
	return &out, err
}

// explainWork explains the delivery of one work.
func (o *options) explainWork(ctx context.Context, name string, now time.Time) error {
	if o.cluster != "" {
		return errors.New("--cluster is for placements and sets: the namespace of a work is its cluster, name it with -n")
	}
	work, err := o.readWork(ctx, name)
	if err != nil {
		return err
	}
	found := report.OfWork(work, now)
	found.ShowUnknown(o.readCluster(ctx, work.Namespace))
	return o.write(found, func(w io.Writer, on printer.Screen) error { return rollouts.PrintWork(w, &found, on, now) })
}

// readWork reads a work from files or from the hub.
func (o *options) readWork(ctx context.Context, name string) (*workv1.ManifestWork, error) {
	if o.Offline() {
		bundle, err := o.load(ctx)
		if err != nil {
			return nil, err
		}
		return rollouts.WorkIn(bundle, o.HubFlags.Namespace(), name)
	}
	hub, key, err := o.caller().Connect(name)
	if err != nil {
		return nil, err
	}
	out := &workv1.ManifestWork{}
	if err := hub.Get(ctx, key, out); err != nil {
		return nil, fmt.Errorf("reading the ManifestWork %s: %w", key, err)
	}
	return out, nil
}

// readCluster reads the cluster of a work; nil where the input has none, or the caller may not read it.
func (o *options) readCluster(ctx context.Context, name string) *clusterv1.ManagedCluster {
	if o.Offline() {
		at := slices.IndexFunc(o.bundle.Clusters, func(c *clusterv1.ManagedCluster) bool { return c.Name == name })
		if at < 0 {
			return nil
		}
		return o.bundle.Clusters[at]
	}
	hub, _, err := o.caller().Connect(name)
	found := &clusterv1.ManagedCluster{}
	if err != nil || hub.Get(ctx, client.ObjectKey{Name: name}, found) != nil {
		return nil
	}
	return found
}

// printDeliveries writes the deliveries to the clusters of a placement, after the explanation of the placement.
func (o *options) printDeliveries(w io.Writer, found []*report.Report, now time.Time) {
	on := printer.ScreenOf(o.Streams.Out, os.Getenv)
	for _, each := range found {
		printer.Printf(w, "\nDelivered by ")
		if o.cluster == "" {
			rollouts.PrintRollout(w, each, on, now)
			continue
		}
		if c, ok := each.Find(o.cluster); ok {
			printer.Printf(w, "%s:\n", each.Set)
			rollouts.PrintCluster(w, each.Set, c, on, now)
		} else {
			printer.Printf(w, "%s: nothing in this cluster\n", each.Set)
		}
	}
}

// deliveries returns the reports of the sets that deliver to the clusters of a placement, for these clusters only. A caller that may not
// list sets gets none.
func (o *options) deliveries(ctx context.Context, namespace, placement string, now time.Time) ([]*report.Report, error) {
	var found []*report.Report
	var err error
	if o.Offline() {
		found, err = o.deliveriesFromFiles(namespace, placement, now)
	} else {
		found, err = o.deliveriesFromHub(ctx, namespace, placement, now)
	}
	if err != nil {
		return nil, err
	}
	for _, each := range found {
		each.OfPlacement(placement)
	}
	return found, nil
}

func (o *options) deliveriesFromFiles(namespace, placement string, now time.Time) ([]*report.Report, error) {
	var out []*report.Report
	for _, found := range rollouts.DeliveredBy(o.bundle, namespace, placement) {
		one, err := o.bundleReport(found, now)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

func (o *options) deliveriesFromHub(ctx context.Context, namespace, placement string, now time.Time) ([]*report.Report, error) {
	hub, _, err := o.caller().Connect(placement)
	if err != nil {
		return nil, err
	}
	names, err := rollouts.SetsOf(ctx, hub, namespace, placement)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) { // no right to list sets, or a hub without works
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []*report.Report
	for _, name := range names {
		one, err := o.caller().Report(ctx, hub, client.ObjectKey{Namespace: namespace, Name: name}, now)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}
