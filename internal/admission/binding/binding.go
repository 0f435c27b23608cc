// Package binding validates ManagedClusterSetBindings. To bind a set, the user needs the permission "bind" of that set, since
// the permission to write bindings in a namespace does not cover the clusters. The same permission is needed to set or remove
// the label of granted bindings, and to add a finalizer to a granted binding: otherwise it would outlive the grant.
//
// Existing bindings are not checked again: they remain when the user loses the permission. No user is exempt by name: the
// manager has the permission for the sets that it grants.
package binding

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/admission/permission"
	"github.com/berth-project/berth/internal/admission/review"
	"github.com/berth-project/berth/internal/placement/live"
)

// Binding is the validated kind.
type Binding = clusterv1beta2.ManagedClusterSetBinding

// User is the user who writes a binding.
type User interface {
	Name() string
	// HasAny reports whether the user has at least one of the permissions.
	HasAny(ctx context.Context, oneOf ...permission.Permission) (bool, error)
}

// Validating serves the rules about bindings.
func Validating(rights permission.Checker) http.Handler {
	return review.Handler(func(ctx context.Context, c review.Request[Binding]) (review.Response, error) {
		return review.Response{}, Validate(ctx, c.Old, c.New, permission.NewRequestAuthorizer(c.User, rights))
	})
}

// Deleting warns of what placements lose without a binding.
func Deleting(loss func(namespace, set string) live.Loss) http.Handler {
	return review.Deletions(func(old *Binding) []string { return review.DeletionWarnings(loss(old.Namespace, old.Name)) })
}

// Validate rejects a binding whose name differs from its set, and a write for which the user lacks the permission. old is nil
// when the binding is created.
func Validate(ctx context.Context, old, after *Binding, user User) error {
	act := permissionNeededFor(old, after)
	if act == "" {
		return nil
	}
	if err := ValidateName(after); err != nil {
		return err
	}
	set := after.Spec.ClusterSet
	bind := permission.Permission{
		Verb: "create", Group: clusterv1beta2.GroupName, Resource: "managedclustersets", Subresource: "bind",
		Name: set,
	}
	held, err := user.HasAny(ctx, bind)
	if err != nil || held {
		return err
	}
	return review.Forbidden(schema.GroupResource{Group: clusterv1beta2.GroupName, Resource: "managedclustersetbindings"}, after.Name,
		fmt.Sprintf("user %q may not %s the cluster set %q: this needs %s", user.Name(), act, set, permission.Describe(bind)))
}

// ValidatingName serves the rule about names, as a mutating webhook: the rule of the CRD runs before validating webhooks, and returns
// status 422 where clients expect 400.
func ValidatingName() http.Handler {
	return review.Handler(func(_ context.Context, c review.Request[Binding]) (review.Response, error) {
		return review.Response{}, ValidateName(c.New)
	})
}

// ValidateName rejects a binding whose name differs from its set.
func ValidateName(binding *Binding) error {
	return review.BadRequest(schema.GroupKind{Group: clusterv1beta2.GroupName, Kind: "ManagedClusterSetBinding"}, binding.Name,
		nameErrors(binding))
}

// permissionNeededFor describes the part of a write that needs the permission to bind the set, "" for none.
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

// addsFinalizer reports whether a write adds a finalizer, which would keep a deleted binding.
func addsFinalizer(old, after *Binding) bool {
	return slices.ContainsFunc(after.Finalizers, func(name string) bool { return !slices.Contains(old.Finalizers, name) })
}

func nameErrors(binding *Binding) field.ErrorList {
	path := field.NewPath("spec", "clusterSet")
	switch binding.Spec.ClusterSet {
	case "":
		return field.ErrorList{field.Required(path, "set it to the name of the cluster set, which is metadata.name")}
	case binding.Name:
		return nil
	default:
		return field.ErrorList{field.Invalid(path, binding.Spec.ClusterSet, "must be the same as metadata.name")}
	}
}
