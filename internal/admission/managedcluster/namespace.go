package managedcluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/admission/review"
	"github.com/berth-project/berth/internal/membership/registration"
)

// Namespace is the state of a namespace. The zero value does not exist.
type Namespace struct {
	Exists bool
	// Terminating is set while the namespace is being deleted.
	Terminating bool
	// Cluster is the cluster whose namespace it is; empty for another namespace.
	Cluster string
}

// NamespaceGetter returns the namespace with a name.
type NamespaceGetter func(ctx context.Context, name string) (Namespace, error)

// checkNamespace rejects accepting a cluster whose namespace is being deleted or belongs to another user. Otherwise the agent
// of a cluster named "payments" would get access to the objects of a team with this name.
func (r Request) checkNamespace(ctx context.Context, namespaces NamespaceGetter) error {
	if !registration.AdmitsAgent(r.New) || registration.AdmitsAgent(r.Old) {
		return nil
	}
	namespace, err := namespaces(ctx, r.New.Name)
	switch {
	case err != nil:
		return fmt.Errorf("checking the namespace of the cluster: %w", err)
	case namespace.Terminating:
		return review.Forbidden(groupResource(), r.New.Name, fmt.Sprintf(
			"spec.hubAcceptsClient cannot be turned on while the namespace %q is being deleted; try again once it is gone", r.New.Name))
	case namespace.isForeign(r.New.Name):
		return review.Forbidden(groupResource(), r.New.Name, "spec.hubAcceptsClient cannot be turned on: "+
			registration.ForeignNamespaceMessage(r.New.Name))
	default:
		return nil
	}
}

// Warnings returns the warnings about a request that is allowed.
func (r Request) Warnings(ctx context.Context, namespaces NamespaceGetter, sets SetGetter) []string {
	return append(r.namespaceWarnings(ctx, namespaces), r.setWarnings(ctx, sets)...)
}

// namespaceWarnings returns the warnings for the creator of a cluster. A namespace that cannot be read causes none: it is read again
// when the cluster is accepted.
func (r Request) namespaceWarnings(ctx context.Context, namespaces NamespaceGetter) []string {
	if r.Old != nil || r.New.Spec.HubAcceptsClient || registration.SimulationRequested(r.New) {
		return nil
	}
	if namespace, err := namespaces(ctx, r.New.Name); err != nil || !namespace.isForeign(r.New.Name) {
		return nil
	}
	return []string{"the cluster cannot be accepted as it is: " + registration.ForeignNamespaceMessage(r.New.Name)}
}

func (n Namespace) isForeign(cluster string) bool { return n.Exists && n.Cluster != cluster }

// newNamespaceGetter reads namespaces from the hub.
func newNamespaceGetter(reader client.Reader) NamespaceGetter {
	return func(ctx context.Context, name string) (Namespace, error) {
		namespace := &corev1.Namespace{}
		err := reader.Get(ctx, client.ObjectKey{Name: name}, namespace)
		if apierrors.IsNotFound(err) {
			return Namespace{}, nil
		}
		if err != nil {
			return Namespace{}, fmt.Errorf("reading the namespace %q: %w", name, err)
		}
		return Namespace{
			Exists:      true,
			Terminating: namespace.Status.Phase == corev1.NamespaceTerminating || !namespace.DeletionTimestamp.IsZero(),
			Cluster:     registration.NamespaceOwner(namespace.Labels),
		}, nil
	}
}
