package remote

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/health"
	"github.com/berth-project/berth/internal/agent/work/object"
)

// A look for objects of others reads pages of pageSize objects, and at most maxPages pages of a resource.
const (
	pageSize = 500
	maxPages = 20
)

// content is a resource whose objects are deleted with the object that holds them.
type content struct {
	schema.GroupVersionResource

	// except is the field selector of what counts.
	except string
	// always is whether the member serves the resource for certain, so that a member that does not find it is a failure.
	always bool
}

// contents returns the resources that make a namespace be in use. What Kubernetes itself puts into every namespace does not count.
func contents() []content {
	resource := func(group, name, except string) content {
		return content{GroupVersionResource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: name}, except: except}
	}
	return []content{
		resource("apps", "deployments", ""),
		resource("apps", "statefulsets", ""),
		resource("apps", "daemonsets", ""),
		resource("apps", "replicasets", ""),
		resource("batch", "jobs", ""),
		resource("batch", "cronjobs", ""),
		resource("", "replicationcontrollers", ""),
		resource("", "pods", ""),
		resource("", "persistentvolumeclaims", ""),
		resource("", "services", ""),
		resource("", "configmaps", "metadata.name!=kube-root-ca.crt"),
		resource("", "secrets", "type!=kubernetes.io/service-account-token"),
		resource("networking.k8s.io", "ingresses", ""),
	}
}

// InUse returns why a Namespace or a CustomResourceDefinition must not be deleted: the first object in it that the work did not create. It
// is empty where the deletion takes nothing of others, and for other kinds. created has the UIDs of the objects that the work created.
// After an error, such as a missing permission, nothing is known, and the deletion waits.
func (m *Member) InUse(
	ctx context.Context, executor *workv1.ManifestWorkExecutor, found *unstructured.Unstructured, record Record, created []types.UID,
) (string, error) {
	var all []content
	namespace := ""
	switch found.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Namespace"}:
		all, namespace = contents(), found.GetName()
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		instances, served := instancesOf(found)
		if !served {
			return "no version of it is served, so its instances cannot be listed", nil
		}
		all = []content{instances}
	default:
		return "", nil
	}
	headers, err := metadata.NewForConfig(m.configOf(executor))
	if err != nil {
		return "", fmt.Errorf("preparing a look for objects of other clients: %w", err)
	}
	for _, each := range all {
		why, err := firstOfOthers(ctx, headers.Resource(each.GroupVersionResource).Namespace(namespace), each, record, created)
		if why != "" || err != nil {
			return why, err
		}
	}
	return "", nil
}

// instancesOf returns the resource that a definition defines, in a version that is served; false without one.
func instancesOf(definition *unstructured.Unstructured) (content, bool) {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group") // the API server refuses another type
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, each := range versions {
		version, _ := each.(map[string]any)
		if served, _, _ := unstructured.NestedBool(version, "served"); served {
			name, _, _ := unstructured.NestedString(version, "name")
			resource := schema.GroupVersionResource{Group: group, Version: name, Resource: plural}
			return content{GroupVersionResource: resource, always: health.Serving(definition)}, true
		}
	}
	return content{}, false
}

// firstOfOthers returns the first object of a resource that is of another client, or why that is not known.
func firstOfOthers(ctx context.Context, from metadata.ResourceInterface, of content, record Record, created []types.UID) (string, error) {
	options := metav1.ListOptions{Limit: pageSize, FieldSelector: of.except}
	for range maxPages {
		page, err := from.List(ctx, options)
		switch {
		case apierrors.IsForbidden(err):
			return "", fmt.Errorf("it may hold objects of other clients, and goes once the account of the work may list them: %w", err)
		case apierrors.IsNotFound(err) && !of.always:
			return "", nil
		case err != nil:
			return "", fmt.Errorf("listing %s before a deletion: %w", of.GroupResource(), err)
		}
		for i := range page.Items {
			if each := &page.Items[i]; ofOthers(each, record, created) {
				id := object.ID{Group: of.Group, Resource: of.Resource, Namespace: each.Namespace, Name: each.Name}
				return "it holds " + id.String() + ", which this work did not create", nil
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return "", nil
		}
	}
	return fmt.Sprintf("it holds more than %d %s", pageSize*maxPages, of.GroupResource()), nil
}

// ofOthers returns whether the work did not create an object. An object that names the record as its owner was created by the work, and
// dependents of what the work created go with it. The label alone does not count: adopted objects have it too.
func ofOthers(header *metav1.PartialObjectMetadata, record Record, created []types.UID) bool {
	if header.DeletionTimestamp != nil {
		return false // it goes in any case
	}
	if label := header.Labels[workv1.RecordLabel]; label != "" && label != Label(record.Name) {
		return true
	}
	return !slices.ContainsFunc(header.OwnerReferences, func(owner metav1.OwnerReference) bool {
		return owner.UID == record.UID || slices.Contains(created, owner.UID) || countsItself(owner)
	})
}

// countsItself returns whether an owner is a controller that is listed as well, so that its dependents need not count.
func countsItself(owner metav1.OwnerReference) bool {
	if owner.Controller == nil || !*owner.Controller {
		return false
	}
	kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
	return kind.Group == "apps" || kind.Group == "batch" || kind.Group == "" && kind.Kind == "ReplicationController"
}
