package rollouts

import (
	"context"
	"fmt"
	"io"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/delivery/report"
)

// Caller is the user of a command: how it reaches a hub, and where notes for it go.
type Caller struct {
	Flags  *reader.HubFlags
	ErrOut io.Writer
}

// Connect returns a client for sets of works, and the key of the set of a name.
func (c Caller) Connect(name string) (client.Client, client.ObjectKey, error) {
	config, err := c.Flags.RESTConfig(c.ErrOut)
	if err != nil {
		return nil, client.ObjectKey{}, err
	}
	namespace, _, err := c.Flags.Loader().Namespace()
	if err != nil {
		return nil, client.ObjectKey{}, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	hub, err := NewClient(config)
	return hub, client.ObjectKey{Namespace: namespace, Name: name}, err
}

// Report returns the report of a set: from the works where the caller may list them, else from the manager, which serves the clusters that
// the caller may see, else from the status of the set.
func (c Caller) Report(ctx context.Context, hub client.Client, key client.ObjectKey, now time.Time) (*report.Report, error) {
	read, err := Read(ctx, hub, key)
	if err != nil {
		return nil, err
	}
	if read.WorksHidden {
		found, err := c.View(ctx, key)
		if err == nil {
			found.SetControl(read.Control, read.Set.Status.Rollout)
			return found, nil
		}
		printer.Printf(c.ErrOut, "note: you may not list manifestworks or the kept templates, so clusters are not listed one by one: %s\n", err)
	}
	if err := read.readUnknown(ctx, hub); err != nil {
		return nil, err
	}
	out, err := NewReport(read, now)
	return &out, err
}

// View returns the report of a set from the manager, with the clusters that the caller may see.
func (c Caller) View(ctx context.Context, key client.ObjectKey) (*report.Report, error) {
	h, err := c.Flags.Connect(io.Discard, nil)
	if err != nil {
		return nil, err
	}
	out := &report.Report{}
	if err := h.GetSetView(ctx, out, key.Namespace, key.Name); err != nil {
		return nil, h.ViewError(err, "reading the delivery of "+key.String())
	}
	return out, nil
}
