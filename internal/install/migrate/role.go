package migrate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

const (
	// setRolePrefix begins the names of OCM's roles of sets; a level and the set follow.
	setRolePrefix = "open-cluster-management:managedclusterset:"
	// bindingPrefix begins the names of the bindings that are created; the name of OCM's binding follows.
	bindingPrefix = "berth:"
)

// levels are the levels of Berth's roles of sets by those of OCM's.
func levels() map[string]string {
	return map[string]string{"admin": "admin", "bind": "binder", "view": "viewer"}
}

// planBindings gives the subjects of OCM's roles of sets Berth's roles of the same sets. OCM's bindings stay.
func planBindings(ctx context.Context, hub dynamic.Interface) (steps []Step, notes []string, err error) {
	own, err := ownRoles(ctx, hub)
	if err != nil {
		return nil, nil, err
	}
	all := map[string]*unstructured.Unstructured{}
	err = eachItem(ctx, hub.Resource(roleBindings), func(binding *unstructured.Unstructured) error {
		all[binding.GetName()] = binding
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("listing ClusterRoleBindings: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		level, set, ok := setRole(all[name])
		if !ok || all[bindingPrefix+name] != nil {
			continue
		}
		role, exists := own[[2]string{level, set}]
		if !exists {
			notes = append(notes, fmt.Sprintf("ClusterRoleBinding %s: there is no role %s of the set %s yet: Berth makes it once it runs and the "+
				"set exists; then repeat this command", name, level, set))
			continue
		}
		steps = append(steps, Step{
			Verb: Create, Object: "ClusterRoleBinding " + bindingPrefix + name, Change: "the subjects of " + name + " get the role " + role,
			resource: roleBindings, object: newBinding(all[name], role),
		})
	}
	return steps, notes, nil
}

// ownRoles returns the names of Berth's roles of sets by level and set.
func ownRoles(ctx context.Context, hub dynamic.Interface) (map[[2]string]string, error) {
	out := map[[2]string]string{}
	list, err := hub.Resource(roles).List(ctx, metav1.ListOptions{LabelSelector: clusterv1beta2.SetRoleLabel})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("listing the roles of sets: %w", err)
	}
	for _, role := range list.Items {
		labels := role.GetLabels()
		out[[2]string{labels[clusterv1beta2.SetRoleLabel], labels[clusterv1beta2.ClusterSetLabel]}] = role.GetName()
	}
	return out, nil
}

// setRole returns the level and the set of a binding to one of OCM's roles of sets.
func setRole(binding *unstructured.Unstructured) (level, set string, ok bool) {
	name, _, err := unstructured.NestedString(binding.Object, "roleRef", "name")
	rest, isSetRole := strings.CutPrefix(name, setRolePrefix)
	if err != nil || !isSetRole {
		return "", "", false
	}
	theirs, set, _ := strings.Cut(rest, ":")
	level, known := levels()[theirs]
	return level, set, known && set != ""
}

// newBinding returns a binding of the same subjects to another role.
func newBinding(binding *unstructured.Unstructured, role string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
		"metadata": map[string]any{"name": bindingPrefix + binding.GetName()},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
	}}
	if subjects, found, err := unstructured.NestedSlice(binding.Object, "subjects"); err == nil && found {
		out.Object["subjects"] = subjects
	}
	return out
}
