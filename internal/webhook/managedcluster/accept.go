package managedcluster

import (
	"context"
	"fmt"

	"github.com/berth-project/berth/internal/webhook/review"
	"github.com/berth-project/berth/internal/webhook/right"
)

// Terminating says whether a namespace is on its way out. A namespace that does not exist is not.
type Terminating func(ctx context.Context, namespace string) (bool, error)

// checkAccept refuses to let a cluster in without the right to, or while the namespace that its agent would work in is
// being emptied. Shutting it out needs no right.
func (c Case) checkAccept(ctx context.Context, terminating Terminating) error {
	if !c.New.Spec.HubAcceptsClient || c.Old != nil && c.Old.Spec.HubAcceptsClient {
		return nil
	}
	accept := right.Right{Verb: "update", Group: registrationGroup, Resource: resource, Subresource: "accept", Name: c.New.Name}
	if err := c.need(ctx, "turn spec.hubAcceptsClient on", accept); err != nil {
		return err
	}
	ends, err := terminating(ctx, c.New.Name)
	if err != nil {
		return fmt.Errorf("looking at the namespace of the cluster: %w", err)
	}
	if ends {
		return review.Conflict(groupResource(), c.New.Name, fmt.Sprintf(
			"spec.hubAcceptsClient cannot be turned on while the namespace %q is being deleted; try again once it is gone", c.New.Name))
	}
	return nil
}
