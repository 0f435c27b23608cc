// Package storage owns the REST storage of the views: get, list and watch of the objects that the caller may see.
//
// It does not write, and does not depend on the source of the objects. One invariant: selectors apply to visible objects only,
// so no response depends on an object that the caller may not see.
package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	viewv1 "github.com/berth-project/berth/api/view/v1"
	"github.com/berth-project/berth/internal/kube/access"
	"github.com/berth-project/berth/internal/views/limit"
	"github.com/berth-project/berth/internal/views/viewcache"
	"github.com/berth-project/berth/internal/views/visibility"
)

// Storage serves one resource of the views.
type Storage struct {
	rest.TableConvertor

	resource  schema.GroupResource
	singular  string
	kind      visibility.Kind
	newObject func() visibility.Object
	newList   func() runtime.Object
	// copyOf copies an object deep enough to give it another resource version.
	copyOf  func(visibility.Object) visibility.Object
	cache   *viewcache.Cache
	clock   clock.WithTicker
	watches *limit.Counter
}

// Options are shared by the storages of all resources.
type Options struct {
	Cache *viewcache.Cache
	Clock clock.WithTicker
	// Watches bounds the watches of each user, and of all users.
	Watches *limit.Counter
}

var (
	_ rest.Getter               = &Storage{}
	_ rest.Lister               = &Storage{}
	_ rest.Watcher              = &Storage{}
	_ rest.Scoper               = &Storage{}
	_ rest.SingularNameProvider = &Storage{}
)

// Clusters serves ManagedClusters. The convertor gives their columns as a table.
func Clusters(options Options, columns rest.TableConvertor) *Storage {
	return &Storage{
		TableConvertor: columns, cache: options.Cache, clock: options.Clock, watches: options.Watches, kind: visibility.Cluster,
		resource: viewv1.Resource("managedclusters"), singular: "managedcluster",
		newObject: func() visibility.Object { return &clusterv1.ManagedCluster{} },
		newList:   func() runtime.Object { return &clusterv1.ManagedClusterList{} },
		copyOf:    shallowCopy[clusterv1.ManagedCluster],
	}
}

// Sets serves ManagedClusterSets. The convertor gives their columns as a table.
func Sets(options Options, columns rest.TableConvertor) *Storage {
	return &Storage{
		TableConvertor: columns, cache: options.Cache, clock: options.Clock, watches: options.Watches, kind: visibility.Set,
		resource: viewv1.Resource("managedclustersets"), singular: "managedclusterset",
		newObject: func() visibility.Object { return &clusterv1beta2.ManagedClusterSet{} },
		newList:   func() runtime.Object { return &clusterv1beta2.ManagedClusterSetList{} },
		copyOf:    shallowCopy[clusterv1beta2.ManagedClusterSet],
	}
}

// shallowCopy shares all below the first level, which is read-only.
func shallowCopy[T any, P interface {
	*T
	visibility.Object
}](object visibility.Object) visibility.Object {
	typed, ok := object.(P)
	if !ok {
		panic(fmt.Sprintf("storage: a %T among the %T", object, P(nil)))
	}
	out := *typed
	return P(&out)
}

// New implements rest.Storage.
func (s *Storage) New() runtime.Object { return s.newObject() }

// NewList implements rest.Lister.
func (s *Storage) NewList() runtime.Object { return s.newList() }

// Destroy implements rest.Storage. The storage owns no resource.
func (s *Storage) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (s *Storage) NamespaceScoped() bool { return false }

// GetSingularName implements rest.SingularNameProvider.
func (s *Storage) GetSingularName() string { return s.singular }

// Get implements rest.Getter. An object that the caller may not see is not found, whether it exists or not.
func (s *Storage) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	caller, err := callerFrom(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.checkReached(options.ResourceVersion); err != nil {
		return nil, err
	}
	entry, ok := s.cache.Current().Snapshot.ViewFor(caller).Object(s.kind, name)
	if !ok {
		return nil, apierrors.NewNotFound(s.resource, name)
	}
	return s.withRevision(entry.Object, entry.Revision), nil
}

// withRevision returns a copy of an object with a revision as its resource version. The copy names no API: after a list, an object has
// the name of the API of the stored objects, and after a watch none.
func (s *Storage) withRevision(object visibility.Object, revision uint64) visibility.Object {
	out := s.copyOf(object)
	out.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	out.SetResourceVersion(formatRevision(revision))
	return out
}

var errNoUser = errors.New("the request has no user")

func callerFrom(ctx context.Context) (access.Subject, error) {
	user, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return access.Subject{}, apierrors.NewInternalError(errNoUser)
	}
	return access.Subject{User: user.GetName(), Groups: slices.Clone(user.GetGroups())}, nil
}

// checkReached returns an error where the current state may be older than a resource version that the caller has seen.
func (s *Storage) checkReached(resourceVersion string) error {
	revision, err := parseRevision(resourceVersion)
	if err != nil || revision == 0 || s.cache.Reached(revision) {
		return err
	}
	return newExpired()
}

// parseRevision reads a resource version. "" and "0" are 0: any version will do.
func parseRevision(resourceVersion string) (uint64, error) {
	if resourceVersion == "" {
		return 0, nil
	}
	out, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest("the resource version is not a number")
	}
	return out, nil
}

func formatRevision(revision uint64) string { return strconv.FormatUint(revision, 10) }

func newExpired() error { return apierrors.NewResourceExpired(viewcache.ErrExpired.Error()) }
