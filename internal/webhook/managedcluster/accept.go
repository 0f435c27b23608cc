package managedcluster

import (
	"context"

	"github.com/berth-project/berth/internal/webhook/right"
)

// checkAccept refuses to let a cluster in without the right to. Shutting it out needs no right.
func (c Case) checkAccept(ctx context.Context) error {
	if !c.New.Spec.HubAcceptsClient || c.Old != nil && c.Old.Spec.HubAcceptsClient {
		return nil
	}
	accept := right.Right{Verb: "update", Group: registrationGroup, Resource: resource, Subresource: "accept", Name: c.New.Name}
	return c.need(ctx, "turn spec.hubAcceptsClient on", accept)
}
