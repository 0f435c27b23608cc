package managedcluster

import (
	"context"

	"github.com/berth-project/berth/internal/admission/permission"
)

// checkAccept rejects accepting a cluster without the permission. To stop accepting it needs no permission.
func (c Request) checkAccept(ctx context.Context) error {
	if !c.New.Spec.HubAcceptsClient || c.Old != nil && c.Old.Spec.HubAcceptsClient {
		return nil
	}
	return c.require(ctx, "turn spec.hubAcceptsClient on", acceptPermission(c.New.Name))
}

// acceptPermission is the permission to accept a cluster.
func acceptPermission(name string) permission.Permission {
	return permission.Permission{Verb: "update", Group: registrationGroup, Resource: resource, Subresource: "accept", Name: name}
}
