package member

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	aboutv1alpha1 "github.com/berth-project/berth/api/about/v1alpha1"
	aboutv1beta1 "github.com/berth-project/berth/api/about/v1beta1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/internal/agent/client"
)

// claimKind is a version of a kind whose objects are claims.
type claimKind struct {
	resource schema.GroupVersionResource
	object   runtime.Object
	newList  func() runtime.Object
}

func clusterClaims() claimKind {
	return claimKind{
		resource: clusterv1alpha1.SchemeGroupVersion.WithResource("clusterclaims"),
		object:   &clusterv1alpha1.ClusterClaim{},
		newList:  func() runtime.Object { return &clusterv1alpha1.ClusterClaimList{} },
	}
}

// clusterProperties returns the versions of ClusterProperty, the preferred one first.
func clusterProperties() []claimKind {
	return []claimKind{
		{
			resource: aboutv1beta1.SchemeGroupVersion.WithResource("clusterproperties"),
			object:   &aboutv1beta1.ClusterProperty{},
			newList:  func() runtime.Object { return &aboutv1beta1.ClusterPropertyList{} },
		},
		{
			resource: aboutv1alpha1.SchemeGroupVersion.WithResource("clusterproperties"),
			object:   &aboutv1alpha1.ClusterProperty{},
			newList:  func() runtime.Object { return &aboutv1alpha1.ClusterPropertyList{} },
		},
	}
}

// claimCache watches the first version of a kind that the member serves. A member may install and remove the kind at any time.
type claimCache struct {
	client   *client.Client
	log      *slog.Logger
	changed  func()
	versions []claimKind

	mu sync.Mutex
	// looked is whether the member returned what it serves.
	looked bool
	// served is the version that is watched; empty where the member has none.
	served   schema.GroupVersionResource
	store    cache.Store
	informer cache.Controller
	cancel   context.CancelFunc
}

func newClaimCache(c *client.Client, log *slog.Logger, changed func(), versions ...claimKind) *claimCache {
	return &claimCache{client: c, log: log, changed: changed, versions: versions, cancel: func() {}}
}

// refresh starts, restarts or stops the watch by what the member serves.
func (c *claimCache) refresh(ctx context.Context) error {
	for _, version := range c.versions {
		found, err := serves(ctx, c.client, version.resource)
		if err != nil {
			return err
		}
		if found {
			c.watch(ctx, &version)
			return nil
		}
	}
	c.watch(ctx, nil)
	return nil
}

// watch follows a version, or none where it is nil.
func (c *claimCache) watch(ctx context.Context, version *claimKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var served schema.GroupVersionResource
	if version != nil {
		served = version.resource
	}
	if c.looked && served == c.served {
		return
	}
	c.cancel()
	c.looked, c.served, c.store, c.informer, c.cancel = true, served, nil, nil, func() {}
	if version != nil {
		c.log.Info("watching claims", "resource", served.String())
		source := c.client.ListWatch(client.Object{Resource: served}, "", version.newList)
		c.store, c.informer = newInformer(source, version.object, dropManagedFields, c.changed)
		watching, cancel := context.WithCancel(ctx)
		c.cancel = cancel
		go runInformer(watching, c.informer, c.changed)
	}
	c.changed()
}

func (c *claimCache) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel()
}

// list returns the claims that are for the hub, by name, and whether they were listed completely once.
func (c *claimCache) list() (map[string]string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.looked || c.informer != nil && !c.informer.HasSynced() {
		return nil, false
	}
	out := map[string]string{}
	if c.store == nil {
		return out, true
	}
	for _, object := range c.store.List() {
		if claim, value := valueOf(object); claim != nil {
			if _, private := claim.GetLabels()[clusterv1.SpokeOnlyLabelKey]; !private {
				out[claim.GetName()] = value
			}
		}
	}
	return out, true
}

// valueOf returns a claim and its value.
func valueOf(object any) (claim metav1.Object, value string) {
	switch found := object.(type) {
	case *clusterv1alpha1.ClusterClaim:
		return found, found.Spec.Value
	case *aboutv1beta1.ClusterProperty:
		return found, found.Spec.Value
	case *aboutv1alpha1.ClusterProperty:
		return found, found.Spec.Value
	default:
		return nil, ""
	}
}

// serves returns whether a member serves a resource.
func serves(ctx context.Context, c *client.Client, resource schema.GroupVersionResource) (bool, error) {
	body, code, err := c.GetRaw(ctx, "/apis/"+resource.GroupVersion().String())
	if code == http.StatusNotFound {
		return false, nil
	}
	if err != nil {
		return false, err //nolint:wrapcheck // the client names the path
	}
	list := metav1.APIResourceList{}
	if err := json.Unmarshal(body, &list); err != nil {
		return false, fmt.Errorf("parsing the resources of %s: %w", resource.GroupVersion(), err)
	}
	return slices.ContainsFunc(list.APIResources, func(found metav1.APIResource) bool { return found.Name == resource.Resource }), nil
}

func dropManagedFields(object any) (any, error) {
	if meta, ok := object.(metav1.Object); ok {
		meta.SetManagedFields(nil)
		meta.SetAnnotations(nil)
	}
	return object, nil
}
