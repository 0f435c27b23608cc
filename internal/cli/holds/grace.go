package holds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/kube/hold"
)

// The kinds of objects that have graces.
const (
	setKind     = "ManagedClusterSet"
	bindingKind = "ManagedClusterSetBinding"
	clusterKind = "ManagedCluster"
)

// endGrace returns what ends the grace of an object of a kind. The manager ends it: no object stores a grace.
func (o *releaseOptions) endGrace(kind string) func(ctx context.Context, name string) error {
	return func(ctx context.Context, name string) error {
		object := strings.ToLower(kind) + "/" + name
		if o.hold != "" && o.hold != string(hold.Grace) {
			return fmt.Errorf("%s has no hold but %s", object, hold.Grace)
		}
		reason, err := rollouts.TrimReason(o.reason)
		if err != nil {
			return err
		}
		namespace := ""
		if kind == bindingKind {
			if namespace, _, err = o.flags.Loader().Namespace(); err != nil {
				return fmt.Errorf("reading the kubeconfig: %w", err)
			}
		}
		hub, err := o.flags.Connect(io.Discard, nil)
		if err != nil {
			return err
		}
		err = hub.EndGrace(ctx, kind, namespace, name, reason)
		status, answered := errors.AsType[*apierrors.StatusError](err)
		switch {
		case answered && apierrors.IsNotFound(err) && status.ErrStatus.Details != nil && status.ErrStatus.Details.Name == name:
			return fmt.Errorf("%s has no grace now: `kubectl berth holds -A` lists the holds", object)
		case apierrors.IsForbidden(err):
			return fmt.Errorf("ending the grace of %s: the right to update it is missing; ask for a role that gives it: %w", object, err)
		case err != nil:
			return hub.ViewError(err, "ending the grace of "+object)
		}
		printer.Printf(o.streams.Out, "%s: %s is released: what was selected by it leaves, by the disruption policies\n", object, hold.Grace)
		return nil
	}
}
