// Package binding owns who may bind a cluster set to a namespace: whoever holds the set's own permission for it, since
// the right to write bindings in a namespace says nothing about the clusters.
//
// It refuses to look at what was bound before: a permission that is lost later unbinds nothing.
package binding

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/webhook/review"
	"github.com/berth-project/berth/internal/webhook/right"
)

// Binding is the kind that the package is about.
type Binding = clusterv1beta2.ManagedClusterSetBinding

// User is who writes a binding.
type User interface {
	Name() string
	// Has says whether the user has one of some rights at least.
	Has(ctx context.Context, oneOf ...right.Right) (bool, error)
}

// Validating serves the rules about bindings.
func Validating(rights right.Checker) http.Handler {
	return review.Handler(func(ctx context.Context, c review.Case[Binding]) (review.Answer, error) {
		return review.Answer{}, Validate(ctx, c.Old, c.New, right.NewHolder(c.User, rights))
	})
}

// Validate refuses a binding that is not named like its set, and one that the user may not make. old is nil when the
// binding is created; one that goes on naming the same set is not looked at again.
func Validate(ctx context.Context, old, after *Binding, user User) error {
	set := after.Spec.ClusterSet
	if old != nil && old.Spec.ClusterSet == set {
		return nil
	}
	if err := review.Invalid(schema.GroupKind{Group: clusterv1beta2.GroupName, Kind: "ManagedClusterSetBinding"}, after.Name, faults(after)); err != nil {
		return err
	}
	bind := right.Right{Verb: "create", Group: clusterv1beta2.GroupName, Resource: "managedclustersets", Subresource: "bind", Name: set}
	held, err := user.Has(ctx, bind)
	if err != nil || held {
		return err
	}
	return review.Forbidden(schema.GroupResource{Group: clusterv1beta2.GroupName, Resource: "managedclustersetbindings"}, after.Name,
		fmt.Sprintf("user %q may not bind the cluster set %q: this needs %s", user.Name(), set, right.Needed(bind)))
}

func faults(binding *Binding) field.ErrorList {
	path := field.NewPath("spec", "clusterSet")
	switch binding.Spec.ClusterSet {
	case "":
		return field.ErrorList{field.Required(path, "name the cluster set to bind, as metadata.name does")}
	case binding.Name:
		return nil
	default:
		return field.ErrorList{field.Invalid(path, binding.Spec.ClusterSet, "must be the same as metadata.name")}
	}
}
