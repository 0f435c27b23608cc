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
	"github.com/berth-project/berth/internal/webhook/right"
)

// Case is a cluster on its way into the hub.
type Case struct {
	// Old is nil when the cluster is created. Both are read-only.
	Old, New *clusterv1.ManagedCluster
	User     User
	// Now stamps new taints.
	Now time.Time
}

// User is who writes the cluster, asked by several at the same time.
type User interface {
	Name() string
	right.Haver
}

// labels returns the labels that are stored, and those that are to be.
func (c Case) labels() (before, after map[string]string) {
	if c.Old != nil {
		before = c.Old.Labels
	}
	return before, c.New.Labels
}

// taints returns the taints that are stored, and those that are to be.
func (c Case) taints() (before, after []clusterv1.Taint) {
	if c.Old != nil {
		before = c.Old.Spec.Taints
	}
	return before, c.New.Spec.Taints
}

// taintRight is what it takes to speak for the cluster's health.
func (c Case) taintRight() right.Right {
	return right.Right{Verb: "update", Group: clusterv1.GroupName, Resource: resource, Subresource: "taint", Name: c.New.Name}
}

// need is what the user may not do without one of some rights.
type need struct {
	doing string
	oneOf []right.Right
}

// need refuses the case unless the user has one of some rights. doing says what the user may not do without.
func (c Case) need(ctx context.Context, doing string, oneOf ...right.Right) error {
	return c.needAll(ctx, []need{{doing, oneOf}})
}

// needAll refuses the case for the first need that the user does not meet.
func (c Case) needAll(ctx context.Context, needs []need) error {
	ways := make([][]right.Right, 0, len(needs))
	for _, need := range needs {
		ways = append(ways, need.oneOf)
	}
	lacking, err := right.FirstLacking(ctx, c.User, ways)
	if err != nil || lacking < 0 {
		return err
	}
	return c.forbid(needs[lacking].doing, needs[lacking].oneOf...)
}
