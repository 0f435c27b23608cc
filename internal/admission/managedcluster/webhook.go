package managedcluster

import (
	"context"
	"net/http"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/admission/permission"
	"github.com/berth-project/berth/internal/admission/review"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get

// Mutating serves the defaults of clusters.
func Mutating(rights permission.Checker, clock clock.PassiveClock, state JoinOptions) http.Handler {
	return review.Handler(func(ctx context.Context, c review.Request[clusterv1.ManagedCluster]) (review.Response, error) {
		return Request{Old: c.Old, New: c.New, User: permission.NewRequestAuthorizer(c.User, rights), Now: clock.Now()}.Default(ctx, state)
	})
}

// Validating serves the rules about clusters. Server reads the namespace of a cluster that is created or accepted, and cache the set that a
// cluster is put into.
func Validating(rights permission.Checker, server, cache client.Reader) http.Handler {
	return review.Handler(func(ctx context.Context, c review.Request[clusterv1.ManagedCluster]) (review.Response, error) {
		made := Request{Old: c.Old, New: c.New, User: permission.NewRequestAuthorizer(c.User, rights)}
		of, sets := newNamespaceGetter(server), newSetGetter(cache)
		if err := made.Validate(ctx, of); err != nil {
			return review.Response{}, err
		}
		return review.Response{Warnings: made.Warnings(ctx, of, sets)}, nil
	})
}

// Validate rejects a request that breaks a rule. Rules without requests to the API server come first.
func (r Request) Validate(ctx context.Context, namespaces NamespaceGetter) error {
	if err := r.checkName(); err != nil {
		return err
	}
	if err := r.checkTaintErrors(); err != nil {
		return err
	}
	if err := r.checkLabels(ctx); err != nil {
		return err
	}
	if err := r.checkTaints(ctx); err != nil {
		return err
	}
	if err := r.checkSimulated(ctx); err != nil {
		return err
	}
	if err := r.checkImported(ctx); err != nil {
		return err
	}
	if err := r.checkAccept(ctx); err != nil {
		return err
	}
	return r.checkNamespace(ctx, namespaces)
}
