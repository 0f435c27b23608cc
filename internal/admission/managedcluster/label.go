package managedcluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/admission/permission"
)

// reservedPrefixes are the key prefixes of labels that decide the membership in sets.
func reservedPrefixes() []string {
	return []string{"cluster.open-cluster-management.io/", "info.open-cluster-management.io/"}
}

// checkLabels rejects a change of a reserved label without the permissions for the old and the new value. It stops at the
// first missing permission, so that a user without any causes few requests.
func (r Request) checkLabels(ctx context.Context) error {
	before, after := r.labels()
	var needs []requirement
	for _, key := range changedLabels(before, after) {
		if value, was := before[key]; was && isMeaningful(key, value) {
			needs = append(needs, requirement{fmt.Sprintf("take the label %s=%s away", key, value), labelPermissions(key, value)})
		}
		if value, is := after[key]; is && isMeaningful(key, value) {
			needs = append(needs, requirement{fmt.Sprintf("put the label %s=%s on", key, value), labelPermissions(key, value)})
		}
	}
	return r.requireAll(ctx, needs)
}

// changedLabels returns the sorted reserved keys of changed labels.
func changedLabels(before, after map[string]string) []string {
	keys := map[string]struct{}{}
	for _, labels := range []map[string]string{before, after} {
		for key := range labels {
			keys[key] = struct{}{}
		}
	}
	maps.DeleteFunc(keys, func(key string, _ struct{}) bool {
		old, was := before[key]
		value, is := after[key]
		return !reserved(key) || was == is && old == value
	})
	return slices.Sorted(maps.Keys(keys))
}

func reserved(key string) bool {
	return slices.ContainsFunc(reservedPrefixes(), func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// isMeaningful reports whether a label has an effect: an empty clusterset label has none.
func isMeaningful(key, value string) bool {
	return key != clusterv1beta2.ClusterSetLabel || value != ""
}

// labelPermissions returns the permissions for a value of a label. One of them suffices. The broadest is first: it covers many
// changed labels with one review. RBAC has no patterns, so each name is literal. The permission to join a set, which older
// roles grant, is last.
func labelPermissions(key, value string) []permission.Permission {
	label := permission.Permission{Verb: "create", Group: clusterv1.GroupName, Resource: resource, Subresource: "label"}
	var out []permission.Permission
	for _, name := range []string{"*", key + ":*", key + ":" + value} {
		label.Name = name
		out = append(out, label)
	}
	if key == clusterv1beta2.ClusterSetLabel {
		out = append(out, permission.Permission{
			Verb: "create", Group: clusterv1.GroupName, Resource: "managedclustersets", Subresource: "join", Name: value,
		})
	}
	return out
}
