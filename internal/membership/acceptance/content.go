package acceptance

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// contentPage bounds the works and add-ons that are read, and removed, at a time.
const contentPage = 500

func addOnKind() schema.GroupKind {
	return schema.GroupKind{Group: "addon.open-cluster-management.io", Kind: "ManagedClusterAddOn"}
}

func workKind() schema.GroupKind {
	return schema.GroupKind{Group: "work.open-cluster-management.io", Kind: "ManifestWork"}
}

// readContent reads the objects of a kind in a namespace. A kind that the hub does not have has none.
func readContent(ctx context.Context, mapper meta.RESTMapper, reader client.Reader, kind schema.GroupKind,
	namespace string,
) (content, error) {
	out := content{kind: kind.Kind, unknown: true}
	mapping, err := mapper.RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return content{kind: kind.Kind}, nil
	}
	if err != nil {
		return out, fmt.Errorf("finding the kind %s: %w", kind, err)
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(mapping.GroupVersionKind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := reader.List(ctx, list, client.InNamespace(namespace), client.Limit(contentPage)); err != nil {
		return out, fmt.Errorf("listing %s in namespace %s: %w", kind, namespace, err)
	}
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(mapping.GroupVersionKind)
	}
	return content{kind: kind.Kind, objects: list.Items, more: list.Continue != ""}, nil
}
