package hub

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applyrbacv1 "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// clusterInfo is the name of the ConfigMap in kube-public that Kubernetes defines for the URL and the authority of a cluster.
const clusterInfo = "cluster-info"

// publishClusterInfo stores the URL for agents and the authorities of the hub where every authenticated user may read them. Join
// commands are made from it.
func (p *controlPlane) publishClusterInfo(ctx context.Context) error {
	info := api.NewConfig()
	info.Clusters[""] = &api.Cluster{
		Server:                   cmp.Or(p.opts.AdvertiseURL, p.opts.serverURL(p.listener.Addr())),
		CertificateAuthorityData: p.keys.trusted(),
	}
	text, err := clientcmd.Write(*info)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", clusterInfo, err)
	}
	client, err := kubernetes.NewForConfig(p.admin)
	if err != nil {
		return fmt.Errorf("publishing %s: %w", clusterInfo, err)
	}
	own := metav1.ApplyOptions{FieldManager: "berth-hub", Force: true}
	namespace := metav1.NamespacePublic
	if _, err := client.CoreV1().Namespaces().Apply(ctx, applycorev1.Namespace(namespace), own); err != nil {
		return fmt.Errorf("publishing %s: %w", clusterInfo, err)
	}
	config := applycorev1.ConfigMap(clusterInfo, namespace).WithData(map[string]string{"kubeconfig": string(text)})
	if _, err := client.CoreV1().ConfigMaps(namespace).Apply(ctx, config, own); err != nil {
		return fmt.Errorf("publishing %s: %w", clusterInfo, err)
	}
	const role = "berth:" + clusterInfo
	rule := applyrbacv1.PolicyRule().WithAPIGroups(corev1.GroupName).WithResources("configmaps").WithResourceNames(clusterInfo).WithVerbs(
		"get")
	if _, err := client.RbacV1().Roles(namespace).Apply(ctx, applyrbacv1.Role(role, namespace).WithRules(rule), own); err != nil {
		return fmt.Errorf("publishing %s: %w", clusterInfo, err)
	}
	binding := applyrbacv1.RoleBinding(role, namespace).
		WithRoleRef(applyrbacv1.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("Role").WithName(role)).
		WithSubjects(applyrbacv1.Subject().WithAPIGroup(rbacv1.GroupName).WithKind(rbacv1.GroupKind).WithName("system:authenticated"))
	if _, err := client.RbacV1().RoleBindings(namespace).Apply(ctx, binding, own); err != nil {
		return fmt.Errorf("publishing %s: %w", clusterInfo, err)
	}
	return nil
}
