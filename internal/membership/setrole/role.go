package setrole

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
)

// Level is the level of access to a set. Each level includes the levels after it.
type Level string

const (
	// Admin may also add clusters to the set and remove them, with write access to these clusters. It may get, label, taint and delete
	// the clusters of an exclusive set.
	Admin Level = "admin"
	// Binder may also bind the set to the namespaces in which they may write bindings.
	Binder Level = "binder"
	// Viewer may read the set.
	Viewer Level = "viewer"
)

const (
	// Prefix is the prefix of the name of every role.
	Prefix = "berth:managedclusterset:"

	hashDigits = 16
	// clustersPerRule bounds the names in one rule, clustersPerRole those in one role: an object of more than 1.5 MB cannot
	// be stored, and a name has up to 63 characters.
	clustersPerRule = 1_000
	clustersPerRole = 10_000
)

func levels() []Level { return []Level{Admin, Binder, Viewer} }

// RoleName returns the name of the ClusterRole of a set. That of a set with a very long name is cut, and made unique
// by a hash of the name, after a colon, which no set has in its name.
func RoleName(level Level, set string) string {
	name := Prefix + string(level) + ":" + set
	if len(name) <= validation.DNS1123SubdomainMaxLength {
		return name
	}
	sum := sha256.Sum256([]byte(set))
	suffix := ":" + hex.EncodeToString(sum[:])[:hashDigits]
	return name[:validation.DNS1123SubdomainMaxLength-len(suffix)] + suffix
}

// Rules returns what a level allows. The clusters are the members of an exclusive set, sorted by name; only admins get
// rules about them. Everything else follows from the name of the set alone, never from its selector: a user who edits the
// selector must not edit permissions by that.
func Rules(level Level, set string, clusters []string) []rbacv1.PolicyRule {
	rules := []rbacv1.PolicyRule{rule("get", "managedclustersets", set)}
	if level == Viewer {
		return rules
	}
	rules = append(rules, rule("create", "managedclustersets/bind", set))
	if level == Binder {
		return rules
	}
	rules = append(rules,
		rule("create", "managedclustersets/join", set),
		rule("create", "managedclusters/label", clusterv1beta2.ClusterSetLabel+":"+set))
	for chunk := range slices.Chunk(clusters, clustersPerRule) {
		rules = append(rules, clusterRule(chunk))
	}
	return rules
}

func rule(verb, resource, name string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		Verbs: []string{verb}, APIGroups: []string{clusterv1.GroupVersion.Group}, Resources: []string{resource}, ResourceNames: []string{name},
	}
}

// clusterRule allows to get, change and delete clusters, but not to list or watch any: the views do that. The subresource
// setadmin does not exist. It marks the users that the policy in config/manager/setadmins.yaml limits to labels and taints.
func clusterRule(names []string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		Verbs:         []string{"get", "update", "patch", "delete"},
		APIGroups:     []string{clusterv1.GroupVersion.Group},
		Resources:     []string{"managedclusters", "managedclusters/setadmin"},
		ResourceNames: names,
	}
}

// exclusive reports whether the members of a set are the clusters whose clusterset label is its name. With any other label, a user who
// edits the selector would choose the clusters of the admins.
func exclusive(set *clusterv1beta2.ManagedClusterSet) bool {
	label, ok := fleet.SetOfSpec(set).ExclusiveLabel()
	return ok && label.Key == clusterv1beta2.ClusterSetLabel && label.Value == set.Name
}

// desiredRole returns the role of a set. The set owns it, so it is deleted with the set.
func desiredRole(level Level, set *clusterv1beta2.ManagedClusterSet, clusters []string) *rbacv1.ClusterRole {
	owner := metav1.NewControllerRef(set, clusterv1beta2.GroupVersion.WithKind("ManagedClusterSet"))
	owner.BlockOwnerDeletion = nil // some hubs require a permission for it, and nothing needs it
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{
			Name: RoleName(level, set.Name), OwnerReferences: []metav1.OwnerReference{*owner},
			Labels: map[string]string{clusterv1beta2.SetRoleLabel: string(level), clusterv1beta2.DeprecatedSetRoleLabel: string(level)},
		},
		Rules: Rules(level, set.Name, clusters),
	}
	if len(validation.IsValidLabelValue(set.Name)) == 0 {
		role.Labels[clusterv1beta2.ClusterSetLabel] = set.Name
	}
	return role
}
