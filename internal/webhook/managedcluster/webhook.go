package managedcluster

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/webhook/review"
	"github.com/berth-project/berth/internal/webhook/right"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get

// Mutating serves the completion of clusters.
func Mutating(rights right.Checker, clock clock.PassiveClock) http.Handler {
	return review.Handler(func(ctx context.Context, c review.Case[clusterv1.ManagedCluster]) (review.Answer, error) {
		return Case{Old: c.Old, New: c.New, User: right.NewHolder(c.User, rights), Now: clock.Now()}.Default(ctx)
	})
}

// Validating serves the rules about clusters. namespaces is asked about the namespace of a cluster that is let in.
func Validating(rights right.Checker, namespaces client.Reader) http.Handler {
	return review.Handler(func(ctx context.Context, c review.Case[clusterv1.ManagedCluster]) (review.Answer, error) {
		made := Case{Old: c.Old, New: c.New, User: right.NewHolder(c.User, rights)}
		return review.Answer{}, made.Validate(ctx, terminating(namespaces))
	})
}

// Validate refuses a case that breaks a rule. What needs no question comes first.
func (c Case) Validate(ctx context.Context, terminating Terminating) error {
	if err := c.checkFaults(); err != nil {
		return err
	}
	if err := c.checkLabels(ctx); err != nil {
		return err
	}
	if err := c.checkTaints(ctx); err != nil {
		return err
	}
	return c.checkAccept(ctx, terminating)
}

func terminating(namespaces client.Reader) Terminating {
	return func(ctx context.Context, name string) (bool, error) {
		namespace := &corev1.Namespace{}
		err := namespaces.Get(ctx, client.ObjectKey{Name: name}, namespace)
		if err != nil {
			return false, client.IgnoreNotFound(err)
		}
		return namespace.Status.Phase == corev1.NamespaceTerminating || !namespace.DeletionTimestamp.IsZero(), nil
	}
}
