package managedcluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/webhook/permission"
)

// reservedPrefixes start the keys of the labels that decide about membership in sets.
func reservedPrefixes() []string {
	return []string{"cluster.open-cluster-management.io/", "info.open-cluster-management.io/"}
}

// checkLabels refuses to set, change or take away a reserved label without the right to the value that goes and the
// one that comes. It stops at the first refusal, so that a stranger cannot make it ask for long.
func (c Request) checkLabels(ctx context.Context) error {
	before, after := c.labels()
	var needs []requirement
	for _, key := range changedLabels(before, after) {
		if value, was := before[key]; was && isMeaningful(key, value) {
			needs = append(needs, requirement{fmt.Sprintf("take the label %s=%s away", key, value), labelPermissions(key, value)})
		}
		if value, is := after[key]; is && isMeaningful(key, value) {
			needs = append(needs, requirement{fmt.Sprintf("put the label %s=%s on", key, value), labelPermissions(key, value)})
		}
	}
	return c.requireAll(ctx, needs)
}

// changedLabels returns the reserved keys whose label is not the same in both, sorted.
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

// isMeaningful says whether a label means anything: an empty clusterset label is like none.
func isMeaningful(key, value string) bool {
	return key != clusterv1beta2.ClusterSetLabel || value != ""
}

// labelPermissions returns the rights of which any one suffices for a value of a label, the broadest first: who has it is
// asked about it once, however many labels change. RBAC knows no patterns, so each is a literal name. The right to join
// a set, which older roles grant, is the last.
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
