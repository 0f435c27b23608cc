package join

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

const (
	// AgentNamespace is the namespace of the agent on a member. OCM's agent has the same, so that one replaces the other.
	AgentNamespace = "open-cluster-management-agent"
	// ReportUsageFlag is the flag of an agent that reports how much of its member is free.
	ReportUsageFlag = "--report-usage"

	agentName        = "berth-agent"
	agentRole        = "berth:agent"
	bootstrapName    = "bootstrap-hub-kubeconfig"
	storedKubeconfig = "hub-kubeconfig-secret"
	bootstrapFolder  = "/bootstrap"
	agentHealthPort  = 8000
	agentMemoryLimit = "128Mi"
	unprivilegedUser = 65532
)

// Agent describes an agent that runs in its member.
type Agent struct {
	Cluster, Image string
	// Driver is how the agent authenticates: "csr" or "token".
	Driver string
	// Bootstrap is the bootstrap kubeconfig.
	Bootstrap []byte
	// Profile is what the agent may do for works: ProfileBound or ProfileAdmin.
	Profile string
	// ReportUsage lets the agent report how much of the member is free.
	ReportUsage bool
}

// Install applies the agent to a member: its namespace, account, roles, bootstrap kubeconfig and Deployment. The permissions for works
// are those of the profile; a role with executors that exists is left as it is.
func (a Agent) Install(ctx context.Context, config *rest.Config) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, coordinationv1.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("registering types: %w", err)
		}
	}
	member, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("making a client of the member: %w", err)
	}
	for _, object := range a.objects() {
		//nolint:staticcheck // apply configurations of nine kinds would be longer
		if err := member.Patch(ctx, object, client.Apply, client.FieldOwner(fieldManager), client.ForceOwnership); err != nil {
			return fmt.Errorf("applying %s %s to the member: %w", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
		}
	}
	return allowWorks(ctx, member, a.Profile)
}

// objects returns what the agent consists of, in the order of creation.
func (a Agent) objects() []client.Object {
	own := metav1.ObjectMeta{Namespace: AgentNamespace, Name: agentName}
	shared := metav1.ObjectMeta{Name: agentRole}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: AgentNamespace, Name: agentName}}
	rbac := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
	}
	core := func(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "v1", Kind: kind} }
	return []client.Object{
		&corev1.Namespace{TypeMeta: core("Namespace"), ObjectMeta: metav1.ObjectMeta{Name: AgentNamespace}},
		&corev1.ServiceAccount{TypeMeta: core("ServiceAccount"), ObjectMeta: own},
		&rbacv1.ClusterRole{TypeMeta: rbac("ClusterRole"), ObjectMeta: shared, Rules: a.rules()},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: rbac("ClusterRoleBinding"), ObjectMeta: shared, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: shared.Name},
		},
		// RBAC cannot restrict a creation by name, so the Secret and the Lease exist before the agent writes them.
		&corev1.Secret{TypeMeta: core("Secret"), ObjectMeta: metav1.ObjectMeta{Namespace: AgentNamespace, Name: storedKubeconfig}},
		&corev1.Secret{
			TypeMeta: core("Secret"), ObjectMeta: metav1.ObjectMeta{Namespace: AgentNamespace, Name: bootstrapName},
			Data: map[string][]byte{"kubeconfig": a.Bootstrap},
		},
		&coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease"}, ObjectMeta: own},
		&rbacv1.Role{TypeMeta: rbac("Role"), ObjectMeta: own, Rules: []rbacv1.PolicyRule{
			{
				APIGroups: []string{coordinationv1.GroupName}, Resources: []string{"leases"}, ResourceNames: []string{agentName},
				Verbs: []string{"get", "update"},
			},
			{
				APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{storedKubeconfig},
				Verbs: []string{"get", "update", "patch"},
			},
		}},
		&rbacv1.RoleBinding{
			TypeMeta: rbac("RoleBinding"), ObjectMeta: own, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: agentName},
		},
		a.deployment(own),
	}
}

// rules returns what the agent reads of the member.
func (a Agent) rules() []rbacv1.PolicyRule {
	read := []string{"get", "list", "watch"}
	out := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: read},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{metav1.NamespaceSystem}, Verbs: []string{"get"}},
		{APIGroups: []string{clusterv1.GroupName}, Resources: []string{"clusterclaims"}, Verbs: read},
		{APIGroups: []string{"about.k8s.io"}, Resources: []string{"clusterproperties"}, Verbs: read},
		// The Leases of add-ons. Their names and namespaces come from the hub later, and a rule cannot name them before. The agent lists none.
		{APIGroups: []string{coordinationv1.GroupName}, Resources: []string{"leases"}, Verbs: []string{"get"}},
	}
	if a.ReportUsage {
		list := []string{"list"}
		out = append(out,
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: list},
			rbacv1.PolicyRule{APIGroups: []string{"metrics.k8s.io"}, Resources: []string{"nodes"}, Verbs: list})
	}
	return out
}

// arguments returns the flags of the agent.
func (a Agent) arguments() []string {
	out := []string{
		"--cluster-name=" + a.Cluster, "--bootstrap-kubeconfig=" + bootstrapFolder + "/kubeconfig", "--driver=" + a.Driver, "--leader-elect",
		fmt.Sprintf("--health-probe-bind-address=:%d", agentHealthPort),
	}
	if a.ReportUsage {
		out = append(out, ReportUsageFlag)
	}
	return out
}

// deployment returns one replica that runs without privileges.
func (a Agent) deployment(meta metav1.ObjectMeta) *appsv1.Deployment {
	labels := map[string]string{"app": agentName}
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path,
			Port: intstr.FromInt32(agentHealthPort),
		}}}
	}
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"}, ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)),
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}, // two agents would request two certificates
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				ServiceAccountName: agentName,
				SecurityContext: &corev1.PodSecurityContext{
					RunAsNonRoot: new(true), RunAsUser: new(int64(unprivilegedUser)),
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				Containers: []corev1.Container{{
					Name: agentName, Image: a.Image, Command: []string{"berth-agent"},
					Args:          a.arguments(),
					LivenessProbe: probe("/healthz"), ReadinessProbe: probe("/readyz"),
					Resources: corev1.ResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
						Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(agentMemoryLimit)},
					},
					SecurityContext: &corev1.SecurityContext{
						AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
						Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
					},
					VolumeMounts: []corev1.VolumeMount{{Name: "bootstrap", MountPath: bootstrapFolder, ReadOnly: true}},
				}},
				Volumes: []corev1.Volume{{Name: "bootstrap", VolumeSource: corev1.VolumeSource{
					Secret: &corev1.SecretVolumeSource{SecretName: bootstrapName},
				}}},
			}},
		},
	}
}
