package gather

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
)

const (
	managerNamespace = "berth-system"
	managerPods      = "app.kubernetes.io/name=berth"
	// apiSuffix ends the groups of Berth's own kinds.
	apiSuffix = "open-cluster-management.io"
	// ownPrefix begins the names of Berth's objects of kinds that others use too.
	ownPrefix = "berth"
	smallPage = 50
	largePage = 500
)

// kind is a kind of object that is collected. Selectors narrow the request, and keep narrows what it returns; nil keeps everything.
type kind struct {
	resource schema.GroupVersionResource
	// in is the only namespace that is read; empty for all. global kinds have no namespaces.
	in     string
	global bool
	labels string
	field  string
	keep   func(*unstructured.Unstructured) bool
	page   int64
	// shared is whether most objects of the kind are not Berth's, so that more are looked at than kept.
	shared bool
}

func kinds() []kind {
	resource := func(group, version, name string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: group, Version: version, Resource: name}
	}
	cluster := func(version, name string) kind {
		return kind{resource: resource(clusterv1.GroupName, version, name), page: largePage}
	}
	addon := func(name string) kind {
		return kind{resource: resource("addon."+apiSuffix, "v1alpha1", name), page: largePage}
	}
	global := func(k kind) kind {
		k.global = true
		return k
	}
	server := func(group, name string, keep func(*unstructured.Unstructured) bool) kind {
		return kind{resource: resource(group, "v1", name), keep: keep, global: true, page: smallPage, shared: keep != nil}
	}
	const admission = "admissionregistration.k8s.io"
	return []kind{
		global(cluster("v1", "managedclusters")), global(cluster("v1beta2", "managedclustersets")),
		cluster("v1beta2", "managedclustersetbindings"),
		cluster("v1beta1", "placements"), cluster("v1beta1", "placementdecisions"), cluster("v1alpha1", "addonplacementscores"),
		{resource: resource(workv1.GroupName, "v1alpha1", "manifestworkreplicasets"), page: smallPage},
		{resource: resource(workv1.GroupName, "v1", "manifestworks"), page: smallPage},
		{resource: resource("apps", "v1", "controllerrevisions"), labels: workv1.ReplicaSetLabel, page: smallPage},
		global(addon("clustermanagementaddons")), addon("managedclusteraddons"), addon("addondeploymentconfigs"), global(addon("addontemplates")),
		{resource: resource(multiclusterv1alpha1.GroupName, "v1alpha1", "clusterprofiles"), page: largePage},
		{resource: resource(multiclusterv1alpha1.GroupName, "v1alpha1", "placementdecisions"), page: largePage},
		{resource: resource("coordination.k8s.io", "v1", "leases"), field: "metadata.name=" + clusterv1.ManagedClusterLeaseName, page: largePage},
		{resource: resource("coordination.k8s.io", "v1", "leases"), in: managerNamespace, page: largePage},
		{resource: resource("apps", "v1", "deployments"), in: managerNamespace, page: largePage},
		{resource: resource("", "v1", "pods"), in: managerNamespace, labels: managerPods, page: largePage},
		server(admission, "mutatingwebhookconfigurations", nil), server(admission, "validatingwebhookconfigurations", nil),
		server(admission, "validatingadmissionpolicies", isOwn), server(admission, "validatingadmissionpolicybindings", isOwn),
		server("apiregistration.k8s.io", "apiservices", ofBerth), server("apiextensions.k8s.io", "customresourcedefinitions", ofBerth),
		{resource: resource("events.k8s.io", "v1", "events"), keep: isAboutBerth, page: largePage, shared: true},
	}
}

// isOwn keeps the objects with Berth's names.
func isOwn(object *unstructured.Unstructured) bool {
	return strings.HasPrefix(object.GetName(), ownPrefix)
}

// ofBerth keeps the definitions and APIServices of Berth's groups.
func ofBerth(object *unstructured.Unstructured) bool {
	return strings.HasSuffix(object.GetName(), "."+apiSuffix) || strings.HasSuffix(object.GetName(), "."+multiclusterv1alpha1.GroupName)
}

// isAboutBerth keeps the events about Berth's objects and about the manager.
func isAboutBerth(event *unstructured.Unstructured) bool {
	if event.GetNamespace() == managerNamespace {
		return true
	}
	version, _, err := unstructured.NestedString(event.Object, "regarding", "apiVersion")
	group, _, _ := strings.Cut(version, "/")
	return err == nil && (strings.HasSuffix(group, apiSuffix) || group == multiclusterv1alpha1.GroupName)
}
