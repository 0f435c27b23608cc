package acceptance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	// inventoryPage bounds the objects that are read of each kind. More objects than a cluster has there are foreign objects.
	inventoryPage = 100
	// maxForeign bounds the foreign objects that are reported.
	maxForeign = 5
)

// inventory is what is in the namespace of a cluster that no agent and no controller put there.
type inventory struct {
	// foreign are some of the objects, as resource.group/name.
	foreign []string
	// complete is set once every kind was listed.
	complete bool
	// refused is set where the manager may not list the namespace.
	refused bool
}

// takeInventory lists every kind of object in the namespace of a cluster.
func takeInventory(ctx context.Context, kinds discovery.DiscoveryInterface, reader client.Reader, cluster string) (inventory, error) {
	lists, err := kinds.ServerPreferredNamespacedResources()
	if err != nil {
		return inventory{}, fmt.Errorf("reading the kinds of the hub: %w", err)
	}
	out := inventory{complete: true}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return inventory{}, fmt.Errorf("reading the kinds of the hub: %w", err)
		}
		for _, resource := range list.APIResources {
			if !stored(resource) {
				continue
			}
			found := &metav1.PartialObjectMetadataList{}
			found.SetGroupVersionKind(version.WithKind(resource.Kind + "List"))
			if err := reader.List(ctx, found, client.InNamespace(cluster), client.Limit(inventoryPage)); err != nil {
				return inventory{}, fmt.Errorf("listing %s in namespace %s: %w", resource.Name, cluster, err)
			}
			kind := schema.GroupResource{Group: version.Group, Resource: resource.Name}
			for i := range found.Items {
				if len(out.foreign) < maxForeign && !belongs(kind, &found.Items[i], cluster) {
					out.foreign = append(out.foreign, kind.String()+"/"+found.Items[i].Name)
				}
			}
		}
	}
	return out, nil
}

// stored reports whether objects of a kind are stored. Views and reviews are not.
func stored(resource metav1.APIResource) bool {
	for _, verb := range []string{"list", "create", "delete"} {
		if !slices.Contains(resource.Verbs, verb) {
			return false
		}
	}
	return !strings.Contains(resource.Name, "/")
}

// belongs reports whether an object belongs to the cluster, its agents, or the namespace itself. A resource of another group may have
// the same plural name, and its objects belong to other users.
func belongs(kind schema.GroupResource, object *metav1.PartialObjectMetadata, cluster string) bool {
	switch kind {
	case schema.GroupResource{Resource: "events"}, schema.GroupResource{Group: "events.k8s.io", Resource: "events"},
		schema.GroupResource{Group: clusterv1.GroupName, Resource: "addonplacementscores"}:
		return true
	case schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}:
		return object.Name == clusterv1.ManagedClusterLeaseName
	case schema.GroupResource{Resource: "configmaps"}:
		return object.Name == "kube-root-ca.crt"
	case schema.GroupResource{Resource: "serviceaccounts"}:
		return ownAccount(object.Name)
	case schema.GroupResource{Resource: "secrets"}:
		return ownAccount(object.Annotations[corev1.ServiceAccountNameKey])
	case schema.GroupResource{Group: rbacv1.GroupName, Resource: "rolebindings"}:
		return object.Labels[clusterv1.ClusterNameLabelKey] == cluster
	default:
		return false
	}
}

func ownAccount(name string) bool { return name == "default" || name == registration.AgentAccount }
