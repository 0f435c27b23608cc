package acceptance

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

const registerGroup = "register.open-cluster-management.io"

// clusterRole returns the ClusterRole of the agents of a cluster. Agents of Open Cluster Management review every permission in it
// and count as degraded without one. While a cluster is denied or deleted, its agents may only read the cluster.
func clusterRole(cluster string, accepted bool) *rbacv1.ClusterRole {
	out := &rbacv1.ClusterRole{ObjectMeta: objectMeta("", registration.ClusterRole(cluster), cluster)}
	if !accepted {
		out.Rules = []rbacv1.PolicyRule{clusterRule("managedclusters", cluster, "get", "list", "watch")}
		return out
	}
	out.Rules = []rbacv1.PolicyRule{
		{
			APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"},
			Verbs: []string{"create", "get", "list", "watch"},
		},
		{APIGroups: []string{registerGroup}, Resources: []string{"managedclusters/clientcertificates"}, Verbs: []string{"renew"}},
		clusterRule("managedclusters", cluster, "get", "list", "watch", "update"),
		clusterRule("managedclusters/status", cluster, "patch", "update"),
		// Whether a work that is deleted goes with the namespace. A role in the namespace would go first.
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{cluster}, Verbs: []string{"get"}},
	}
	return out
}

func clusterRule(resource, cluster string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		APIGroups: []string{clusterv1.GroupVersion.Group}, Resources: []string{resource},
		ResourceNames: []string{cluster}, Verbs: verbs,
	}
}

// clusterRoleBindingOf binds the ClusterRole of the cluster.
func (i input) clusterRoleBindingOf() *rbacv1.ClusterRoleBinding {
	name := registration.ClusterRole(i.cluster.Name)
	return &rbacv1.ClusterRoleBinding{ObjectMeta: objectMeta("", name, i.cluster.Name), RoleRef: roleRef(name), Subjects: i.subjects()}
}

// roleBindingOf binds a role in the namespace of the cluster.
func (i input) roleBindingOf(name, role string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: objectMeta(i.cluster.Name, name, i.cluster.Name), RoleRef: roleRef(role), Subjects: i.subjects()}
}

// inventoryBinding lets the manager list everything in the namespace of a cluster that is being deleted.
func inventoryBinding(cluster, user string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: objectMeta(cluster, inventoryName, cluster), RoleRef: roleRef(inventoryRole),
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}
}

// subjects returns the identities of the agents of the cluster: by a certificate, by a cloud, and by a token. Where only the recorded
// agent gets permissions, the account of a token or the user of a certificate is the only identity. Until an agent is recorded, the groups
// stay: an agent that joined before must not lose its access.
func (i input) subjects() []rbacv1.Subject {
	cluster := i.cluster.Name
	account := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: cluster, Name: registration.AgentAccount}
	agent := i.cluster.Annotations[clusterv1.AgentNameAnnotationKey]
	switch {
	case i.bindUser && registration.UsesToken(i.cluster):
		return []rbacv1.Subject{account}
	case i.bindUser && agent != "":
		return []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: registration.AgentUser(cluster, agent)}}
	}
	return []rbacv1.Subject{
		{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: registration.AgentGroup(cluster)},
		{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: registration.CloudGroup(cluster)},
		account,
	}
}

func roleRef(name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
}

func objectMeta(namespace, name, cluster string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabelKey: cluster}}
}
