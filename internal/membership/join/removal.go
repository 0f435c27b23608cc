package join

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
)

// Removal is what goes with a cluster that is deleted.
type Removal struct {
	Cluster string
	// Denied is set where the hub does not accept the cluster: its workloads stay on the member then.
	Denied bool
	// Works and AddOns are the names of what is deleted, and Sets the sets that its works belong to, as namespace/name.
	Works, Sets, AddOns []string
	// WorksHidden and AddOnsHidden are set where the user may not list them.
	WorksHidden, AddOnsHidden bool
}

// ReadRemoval returns what goes with a cluster.
func ReadRemoval(ctx context.Context, hub client.Client, name string) (Removal, error) {
	cluster := &clusterv1.ManagedCluster{}
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
		return Removal{}, fmt.Errorf("reading ManagedCluster %s: %w", name, err)
	}
	works, worksHidden, err := listContent(ctx, hub, name, workv1.GroupVersion.WithKind("ManifestWork"))
	if err != nil {
		return Removal{}, err
	}
	addOns, addOnsHidden, err := listContent(ctx, hub, name, addonv1alpha1.GroupVersion.WithKind("ManagedClusterAddOn"))
	if err != nil {
		return Removal{}, err
	}
	out := Removal{
		Cluster: name, Denied: !cluster.Spec.HubAcceptsClient, WorksHidden: worksHidden, AddOnsHidden: addOnsHidden,
	}
	for i := range works {
		out.Works = append(out.Works, works[i].Name)
		if set := works[i].Annotations[workv1.OwnerAnnotation]; set != "" {
			out.Sets = append(out.Sets, set)
		}
	}
	for i := range addOns {
		out.AddOns = append(out.AddOns, addOns[i].Name)
	}
	slices.Sort(out.Sets)
	out.Sets = slices.Compact(out.Sets)
	return out, nil
}

// CheckKept returns why the workloads of an accepted cluster would go with it although it is to keep them: Berth's manager does not remove
// the cluster, as on a hub where a controller of Open Cluster Management or an older manager does. Such a manager has put no label on the
// namespace of the cluster.
func CheckKept(ctx context.Context, hub client.Client, name string) error {
	namespace := &corev1.Namespace{}
	err := hub.Get(ctx, client.ObjectKey{Name: name}, namespace)
	_, kept := namespace.Labels[clusterv1.AcceptedLabelKey]
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("nothing was changed: the label %s of the namespace %s shows whether this hub keeps workloads, and it cannot be "+
			"read: %w",
			clusterv1.AcceptedLabelKey, name, err)
	case !kept:
		return fmt.Errorf("nothing was changed: the namespace %s has no label %s, so the controller that removes clusters from this hub keeps "+
			"no workloads; set spec.deleteOption.propagationPolicy of the works to Orphan, and run the command without --keep-workloads",
			name, clusterv1.AcceptedLabelKey)
	default:
		return nil
	}
}

// listContent returns the objects of a kind in the namespace of a cluster, and whether the user may not list them, as the admin of a set. A
// kind that the hub does not have has none.
func listContent(ctx context.Context, hub client.Client, cluster string, kind schema.GroupVersionKind,
) (objects []metav1.PartialObjectMetadata, hidden bool, err error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err = hub.List(ctx, list, client.InNamespace(cluster))
	switch {
	case apierrors.IsForbidden(err):
		return nil, true, nil
	case err != nil && !meta.IsNoMatchError(err):
		return nil, false, fmt.Errorf("listing what goes with ManagedCluster %s, each %s in its namespace: %w", cluster, kind.Kind, err)
	default:
		return list.Items, false, nil
	}
}
