// Package managedcluster validates and completes ManagedClusters: which users may put a cluster into a set, accept it, or set
// its health taints and their times.
//
// It decides from a Case, which holds the old and the new object and the user. The invariant: a request needs no permission
// for a field that it does not change, and is never rejected for it.
package managedcluster

import (
	"context"
	"time"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/admission/permission"
)

// Request is a write of a cluster.
type Request struct {
	// Old is nil when the cluster is created. Both are read-only.
	Old, New *clusterv1.ManagedCluster
	User     User
	// Now is the time of new taints.
	Now time.Time
}

// User is the user who writes the cluster. It must be safe for concurrent use.
type User interface {
	Name() string
	permission.Authorizer
}

// labels returns the stored labels and the new ones.
func (r Request) labels() (before, after map[string]string) {
	if r.Old != nil {
		before = r.Old.Labels
	}
	return before, r.New.Labels
}

// taints returns the stored taints and the new ones.
func (r Request) taints() (before, after []clusterv1.Taint) {
	if r.Old != nil {
		before = r.Old.Spec.Taints
	}
	return before, r.New.Spec.Taints
}

// taintPermission is the permission to set the cluster's health taints.
func (r Request) taintPermission() permission.Permission {
	return permission.Permission{Verb: "update", Group: clusterv1.GroupName, Resource: resource, Subresource: "taint", Name: r.New.Name}
}

// requirement is an action that needs one of some permissions.
type requirement struct {
	doing string
	anyOf []permission.Permission
}

// require rejects the request unless the user has one of some permissions. doing describes the action in the error.
func (r Request) require(ctx context.Context, doing string, oneOf ...permission.Permission) error {
	return r.requireAll(ctx, []requirement{{doing, oneOf}})
}

// requireAll rejects the request for the first action that the user may not do.
func (r Request) requireAll(ctx context.Context, needs []requirement) error {
	ways := make([][]permission.Permission, 0, len(needs))
	for _, need := range needs {
		ways = append(ways, need.anyOf)
	}
	lacking, err := permission.FirstMissing(ctx, r.User, ways)
	if err != nil || lacking < 0 {
		return err
	}
	return r.forbidden(needs[lacking].doing, needs[lacking].anyOf...)
}
