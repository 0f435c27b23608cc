package acceptance

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/registration"
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
		{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"create", "get", "list", "watch"}},
		{APIGroups: []string{registerGroup}, Resources: []string{"managedclusters/clientcertificates"}, Verbs: []string{"renew"}},
		clusterRule("managedclusters", cluster, "get", "list", "watch", "update"),
		clusterRule("managedclusters/status", cluster, "patch", "update"),
	}
	return out
}

func clusterRule(resource, cluster string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{clusterv1.GroupVersion.Group}, Resources: []string{resource}, ResourceNames: []string{cluster}, Verbs: verbs}
}

func clusterRoleBinding(cluster string) *rbacv1.ClusterRoleBinding {
	name := registration.ClusterRole(cluster)
	return &rbacv1.ClusterRoleBinding{ObjectMeta: objectMeta("", name, cluster), RoleRef: roleRef(name), Subjects: subjects(cluster)}
}

func roleBinding(cluster, name, role string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: objectMeta(cluster, name, cluster), RoleRef: roleRef(role), Subjects: subjects(cluster)}
}

// inventoryBinding lets the manager list everything in the namespace of a cluster that is being deleted.
func inventoryBinding(cluster, user string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: objectMeta(cluster, inventoryName, cluster), RoleRef: roleRef(inventoryRole),
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}
}

// subjects are the identities of the agents of a cluster: by a certificate, by a cloud, and by a token.
func subjects(cluster string) []rbacv1.Subject {
	return []rbacv1.Subject{
		{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: registration.AgentGroup(cluster)},
		{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: registration.CloudGroup(cluster)},
		{Kind: rbacv1.ServiceAccountKind, Namespace: cluster, Name: registration.AgentAccount},
	}
}

func roleRef(name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
}

func objectMeta(namespace, name, cluster string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabelKey: cluster}}
}
