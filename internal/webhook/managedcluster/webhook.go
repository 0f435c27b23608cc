package managedcluster

import (
	"context"
	"net/http"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/webhook/review"
	"github.com/berth-project/berth/internal/webhook/right"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get

// Mutating serves the completion of clusters.
func Mutating(rights right.Checker, clock clock.PassiveClock, state Registration) http.Handler {
	return review.Handler(func(ctx context.Context, c review.Case[clusterv1.ManagedCluster]) (review.Answer, error) {
		return Case{Old: c.Old, New: c.New, User: right.NewHolder(c.User, rights), Now: clock.Now()}.Default(ctx, state)
	})
}

// Validating serves the rules about clusters. namespaces reads the namespace of a cluster that is created or let in.
func Validating(rights right.Checker, namespaces client.Reader) http.Handler {
	return review.Handler(func(ctx context.Context, c review.Case[clusterv1.ManagedCluster]) (review.Answer, error) {
		made := Case{Old: c.Old, New: c.New, User: right.NewHolder(c.User, rights)}
		of := namespacesOf(namespaces)
		if err := made.Validate(ctx, of); err != nil {
			return review.Answer{}, err
		}
		return review.Answer{Warnings: made.Warnings(ctx, of)}, nil
	})
}

// Validate refuses a case that breaks a rule. What needs no question comes first.
func (c Case) Validate(ctx context.Context, namespaces Namespaces) error {
	if err := c.checkName(); err != nil {
		return err
	}
	if err := c.checkTaintFaults(); err != nil {
		return err
	}
	if err := c.checkLabels(ctx); err != nil {
		return err
	}
	if err := c.checkTaints(ctx); err != nil {
		return err
	}
	if err := c.checkSimulated(ctx); err != nil {
		return err
	}
	if err := c.checkAccept(ctx); err != nil {
		return err
	}
	return c.checkNamespace(ctx, namespaces)
}
