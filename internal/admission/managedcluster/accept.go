package managedcluster

import (
	"context"

	"github.com/berth-project/berth/internal/admission/permission"
)

// checkAccept rejects accepting a cluster without the permission. To stop accepting it needs no permission.
func (r Request) checkAccept(ctx context.Context) error {
	if !r.New.Spec.HubAcceptsClient || r.Old != nil && r.Old.Spec.HubAcceptsClient {
		return nil
	}
	return r.require(ctx, "turn spec.hubAcceptsClient on", acceptPermission(r.New.Name))
}

// acceptPermission is the permission to accept a cluster.
func acceptPermission(name string) permission.Permission {
	return permission.Permission{Verb: "update", Group: registrationGroup, Resource: resource, Subresource: "accept", Name: name}
}
