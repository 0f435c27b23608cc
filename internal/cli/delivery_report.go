package cli

import (
	"context"
	"io"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/delivery/report"
)

// deliveryReader is how the report of a set is read from a hub.
type deliveryReader struct {
	flags  *reader.HubFlags
	errOut io.Writer
	now    time.Time
}

// readReport returns the report of a set: from the works where the caller may list them, else from the manager, which serves the clusters
// that the caller may see, else from the status of the set.
func readReport(ctx context.Context, hub client.Client, key client.ObjectKey, by deliveryReader) (*report.Report, error) {
	read, err := rollouts.Read(ctx, hub, key)
	if err != nil {
		return nil, err
	}
	if read.WorksHidden {
		found, err := viewedReport(ctx, by.flags, key)
		if err == nil {
			return found, nil
		}
		printer.Printf(by.errOut, "note: you may not list manifestworks, so clusters are not listed one by one: %s\n", err)
	}
	out, err := rollouts.NewReport(read, by.now)
	return &out, err
}

// viewedReport returns the report of a set from the manager, with the clusters that the caller may see.
func viewedReport(ctx context.Context, flags *reader.HubFlags, key client.ObjectKey) (*report.Report, error) {
	h, err := flags.Connect(io.Discard, nil)
	if err != nil {
		return nil, err
	}
	out := &report.Report{}
	if err := h.GetSetView(ctx, out, key.Namespace, key.Name); err != nil {
		return nil, h.ViewError(err, "reading the delivery of "+key.String())
	}
	return out, nil
}
