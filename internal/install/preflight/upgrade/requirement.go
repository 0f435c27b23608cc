package upgrade

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/install/preflight"
	"github.com/berth-project/berth/internal/membership/registration"
)

// maxNamed bounds how many things of a kind a finding names.
const maxNamed = 5

// definitions reports what the definitions lack. Without an optional field only the feature is off.
func (c *check) definitions(ctx context.Context) error {
	lacks, err := preflight.MissingDefinitions(ctx, c.hub)
	if err != nil {
		return err //nolint:wrapcheck // it names the object
	}
	var required, optional []string
	for _, lack := range lacks {
		if lack.Required {
			required = append(required, lack.What)
		} else {
			optional = append(optional, lack.What)
		}
	}
	const remedy = "kubectl apply --server-side --force-conflicts -f config/crd"
	if len(required) > 0 {
		c.report.step(CauseInstallation, "definitions", "the hub lacks "+named(required)+": Berth decides nothing without", remedy)
	}
	if len(optional) > 0 {
		c.report.note("definitions", "the hub lacks "+named(optional)+": these features of Berth are off", remedy)
	}
	return nil
}

// permissions reports what the account of the manager lacks, by the folder of the manifests.
func (c *check) permissions(ctx context.Context) error {
	lacks, err := preflight.MissingPermissions(ctx, c.hub, berthNamespace, berthAccount)
	if err != nil {
		return err //nolint:wrapcheck // it names the request
	}
	byFolder := map[string][]string{}
	for _, lack := range lacks {
		byFolder[lack.Manifests()] = append(byFolder[lack.Manifests()], strings.TrimPrefix(lack.What, "the permission to "))
	}
	for _, folder := range slices.Sorted(maps.Keys(byFolder)) {
		slices.Sort(byFolder[folder])
		c.report.step(CauseInstallation, "ServiceAccount "+berthNamespace+"/"+berthAccount,
			"it lacks permissions of "+folder+", such as to "+byFolder[folder][0],
			"kubectl apply --server-side --force-conflicts -f config/manager -f "+folder)
	}
	return nil
}

// clusters reports the clusters whose namespace Berth does not adopt, and those whose agents a change of the hub's CA may cut off.
func (c *check) clusters(ctx context.Context) error {
	list := &clusterv1.ManagedClusterList{}
	if err := c.hub.List(ctx, list); err != nil {
		return fmt.Errorf("listing managed clusters: %w", err)
	}
	namespaces := &metav1.PartialObjectMetadataList{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := c.hub.List(ctx, namespaces); err != nil {
		return fmt.Errorf("listing namespaces: %w", err)
	}
	owners := map[string]string{}
	for _, namespace := range namespaces.Items {
		owners[namespace.Name] = registration.NamespaceOwner(namespace.Labels)
	}
	for i := range list.Items {
		cluster := &list.Items[i]
		if owner, exists := owners[cluster.Name]; exists && owner != cluster.Name && registration.AdmitsAgent(cluster) {
			c.report.ForeignNamespaces = append(c.report.ForeignNamespaces, cluster.Name)
		}
	}
	if found := c.report.ForeignNamespaces; len(found) > 0 {
		const label = "kubectl label namespace NAME " + clusterv1.ClusterNameLabelKey + "=NAME"
		c.report.step(CauseHub, "namespaces", named(found)+": they have the names of clusters and are not labelled as theirs, so Berth "+
			"gives their agents nothing",
			label+" for each that is meant for the agent of its cluster; give the other clusters another name")
	}
	if found := registration.Stragglers(list.Items); len(found) > 0 {
		c.report.Stragglers = found
		names := make([]string, 0, len(found))
		for _, straggler := range found {
			names = append(names, straggler.Cluster)
		}
		c.report.note("agents", "a change of the CA of this hub may cut off the agents of "+named(names)+": they are not known to follow it",
			"give them the next CA before, or replace them with berth-agent")
	}
	return nil
}

// named joins names, and counts those beyond the limit.
func named(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], "; "), more)
	}
	return strings.Join(names, "; ")
}
