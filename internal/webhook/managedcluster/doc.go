// Package managedcluster owns what may be written to a ManagedCluster beyond what the API server's own rules allow:
// who may put a cluster into a set, accept it, or say how healthy it is and since when.
//
// It decides from a Case, which is the two states of the object and who asks, and refuses to know how rights are looked
// up. The invariant: what a request does not change it needs no right for, and is never refused for.
package managedcluster

import (
	"context"
	"time"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/webhook/permission"
)

// Request is a cluster on its way into the hub.
type Request struct {
	// Old is nil when the cluster is created. Both are read-only.
	Old, New *clusterv1.ManagedCluster
	User     User
	// Now stamps new taints.
	Now time.Time
}

// User is who writes the cluster, asked by several at the same time.
type User interface {
	Name() string
	permission.Authorizer
}

// labels returns the labels that are stored, and those that are to be.
func (c Request) labels() (before, after map[string]string) {
	if c.Old != nil {
		before = c.Old.Labels
	}
	return before, c.New.Labels
}

// taints returns the taints that are stored, and those that are to be.
func (c Request) taints() (before, after []clusterv1.Taint) {
	if c.Old != nil {
		before = c.Old.Spec.Taints
	}
	return before, c.New.Spec.Taints
}

// taintPermission is what it takes to speak for the cluster's health.
func (c Request) taintPermission() permission.Permission {
	return permission.Permission{Verb: "update", Group: clusterv1.GroupName, Resource: resource, Subresource: "taint", Name: c.New.Name}
}

// requirement is what the user may not do without one of some rights.
type requirement struct {
	doing string
	anyOf []permission.Permission
}

// require refuses the case unless the user has one of some rights. doing says what the user may not do without.
func (c Request) require(ctx context.Context, doing string, oneOf ...permission.Permission) error {
	return c.requireAll(ctx, []requirement{{doing, oneOf}})
}

// requireAll refuses the case for the first need that the user does not meet.
func (c Request) requireAll(ctx context.Context, needs []requirement) error {
	ways := make([][]permission.Permission, 0, len(needs))
	for _, need := range needs {
		ways = append(ways, need.anyOf)
	}
	lacking, err := permission.FirstMissing(ctx, c.User, ways)
	if err != nil || lacking < 0 {
		return err
	}
	return c.forbidden(needs[lacking].doing, needs[lacking].anyOf...)
}
