package export

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

// pageSize is how many objects one request lists.
const pageSize = 500

// object is an object of the source.
type object = *unstructured.Unstructured

// inventory is the objects of the source, by the name of their kind. Those of one namespace are ordered by age.
type inventory map[string][]object

// readInventory reads everything that an export moves.
func readInventory(ctx context.Context, source dynamic.Interface) (inventory, error) {
	out := inventory{}
	for _, k := range kinds() {
		found, err := list(ctx, source, k)
		if apierrors.IsNotFound(err) && !k.berth {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the %s of the hub: %w", k.resource.Resource, err)
		}
		slices.SortStableFunc(found, func(a, b object) int {
			first, second := a.GetCreationTimestamp(), b.GetCreationTimestamp()
			return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), first.Compare(second.Time), strings.Compare(a.GetName(), b.GetName()))
		})
		out[k.name] = found
	}
	out.keepNeeded()
	return out, out.dropAccounts(ctx, source)
}

// dropAccounts removes the record of the service account of an agent that exists, so that the target creates another. The record of an
// account that was deleted stays: it revokes the agent.
func (i inventory) dropAccounts(ctx context.Context, source dynamic.Interface) error {
	accounts, err := list(ctx, source, kind{
		resource: corev1.SchemeGroupVersion.WithResource("serviceaccounts"),
		fields:   metav1.ObjectNameField + "=" + registration.AgentAccount,
	})
	if err != nil {
		return fmt.Errorf("reading the accounts of agents: %w", err)
	}
	existing := map[string]bool{}
	for _, account := range accounts {
		existing[string(account.GetUID())] = true
	}
	for _, cluster := range i[kindCluster] {
		annotations := cluster.GetAnnotations()
		if existing[annotations[clusterv1.AgentAccountAnnotationKey]] {
			delete(annotations, clusterv1.AgentAccountAnnotationKey)
			cluster.SetAnnotations(annotations)
		}
	}
	return nil
}

// list returns all objects of a kind.
func list(ctx context.Context, hub dynamic.Interface, k kind) ([]object, error) {
	var out []object
	options := metav1.ListOptions{Limit: pageSize, LabelSelector: k.selector, FieldSelector: k.fields}
	for {
		page, err := hub.Resource(k.resource).Namespace(k.namespace).List(ctx, options)
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller names the kind
		}
		for i := range page.Items {
			out = append(out, &page.Items[i])
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return out, nil
		}
	}
}

// keepNeeded leaves out the namespaces without objects of Berth, and the leases of others than clusters.
func (i inventory) keepNeeded() {
	clusters, namespaces := map[string]bool{}, map[string]bool{}
	for _, each := range i[kindCluster] {
		clusters[each.GetName()], namespaces[each.GetName()] = true, true
	}
	i[kindLease] = slices.DeleteFunc(i[kindLease], func(each object) bool { return !clusters[each.GetNamespace()] })
	for _, objects := range i {
		for _, each := range objects {
			namespaces[each.GetNamespace()] = true
		}
	}
	i[kindNamespace] = slices.DeleteFunc(i[kindNamespace], func(each object) bool { return !namespaces[each.GetName()] })
}

// uids returns the UIDs of all objects.
func (i inventory) uids() map[types.UID]bool {
	out := map[types.UID]bool{}
	for _, objects := range i {
		for _, each := range objects {
			out[each.GetUID()] = true
		}
	}
	return out
}
