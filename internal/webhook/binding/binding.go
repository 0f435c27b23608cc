// Package binding owns who may bind a cluster set to a namespace: whoever holds the set's own permission for it, since
// the right to write bindings in a namespace says nothing about the clusters. The same permission is needed to say that
// a binding came from a grant or that it did not, and to hold one that did: otherwise it would outlive the grant.
//
// It refuses to look at what was bound before: a permission that is lost later unbinds nothing. Nobody is exempt by name:
// the manager makes bindings with the permission that it has for what it grants.
package binding

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/webhook/permission"
	"github.com/berth-project/berth/internal/webhook/review"
)

// Binding is the kind that the package is about.
type Binding = clusterv1beta2.ManagedClusterSetBinding

// User is who writes a binding.
type User interface {
	Name() string
	// HasAny says whether the user has one of some rights at least.
	HasAny(ctx context.Context, oneOf ...permission.Permission) (bool, error)
}

// Validating serves the rules about bindings.
func Validating(rights permission.Checker) http.Handler {
	return review.Handler(func(ctx context.Context, c review.Request[Binding]) (review.Response, error) {
		return review.Response{}, Validate(ctx, c.Old, c.New, permission.NewRequestAuthorizer(c.User, rights))
	})
}

// Validate refuses a binding that is not named like its set, and one that the user may not write so. old is nil when the
// binding is created; one that goes on naming the same set, and goes as it would have gone, is not looked at again.
func Validate(ctx context.Context, old, after *Binding, user User) error {
	act := permissionNeededFor(old, after)
	if act == "" {
		return nil
	}
	if err := ValidateName(after); err != nil {
		return err
	}
	set := after.Spec.ClusterSet
	bind := permission.Permission{Verb: "create", Group: clusterv1beta2.GroupName, Resource: "managedclustersets", Subresource: "bind", Name: set}
	held, err := user.HasAny(ctx, bind)
	if err != nil || held {
		return err
	}
	return review.Forbidden(schema.GroupResource{Group: clusterv1beta2.GroupName, Resource: "managedclustersetbindings"}, after.Name,
		fmt.Sprintf("user %q may not %s the cluster set %q: this needs %s", user.Name(), act, set, permission.Describe(bind)))
}

// ValidatingName serves the rule about names, as a mutating webhook: the rule of the definition would answer before a validating one,
// with status 422 where clients expect 400.
func ValidatingName() http.Handler {
	return review.Handler(func(_ context.Context, c review.Request[Binding]) (review.Response, error) {
		return review.Response{}, ValidateName(c.New)
	})
}

// ValidateName refuses a binding that is not named like its set.
func ValidateName(binding *Binding) error {
	return review.BadRequest(schema.GroupKind{Group: clusterv1beta2.GroupName, Kind: "ManagedClusterSetBinding"}, binding.Name, nameErrors(binding))
}

// permissionNeededFor says what a write does that needs the set's permission, "" for nothing.
func permissionNeededFor(old, after *Binding) string {
	if old == nil || old.Spec.ClusterSet != after.Spec.ClusterSet {
		return "bind"
	}
	granted := false
	for _, key := range []string{clusterv1beta2.MadeByLabel, clusterv1beta2.DeprecatedMadeByLabel} {
		before, labelled := old.Labels[key]
		now, stays := after.Labels[key]
		if labelled != stays || before != now {
			return fmt.Sprintf("change the label %s of a binding to", key)
		}
		granted = granted || labelled
	}
	if granted && addsFinalizer(old, after) {
		return "hold, by a finalizer, a granted binding to"
	}
	return ""
}

// addsFinalizer says whether a finalizer comes to a binding: it keeps what is deleted.
func addsFinalizer(old, after *Binding) bool {
	return slices.ContainsFunc(after.Finalizers, func(name string) bool { return !slices.Contains(old.Finalizers, name) })
}

func nameErrors(binding *Binding) field.ErrorList {
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
