// Package storage owns the REST storage of the views: get, list and watch of what the caller has in sight.
//
// It refuses to write, and to know where the objects come from. One invariant: selectors, limits and counts are applied
// to what is in sight, never before, so no answer depends on an object that the caller may not see.
package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	viewv1 "github.com/berth-project/berth/api/view/v1"
	"github.com/berth-project/berth/internal/access"
	"github.com/berth-project/berth/internal/apiserver/history"
	"github.com/berth-project/berth/internal/apiserver/limit"
	"github.com/berth-project/berth/internal/apiserver/visibility"
)

// Storage serves one resource of the views.
type Storage struct {
	rest.TableConvertor

	resource schema.GroupResource
	singular string
	kind     visibility.Kind
	newOne   func() visibility.Object
	newList  func() runtime.Object
	// shown copies an object, as deep as it takes to give it another revision.
	shown   func(visibility.Object) visibility.Object
	history *history.History
	clock   clock.WithTicker
	watches *limit.Counter
}

// Source is what resources are served from. All share it.
type Source struct {
	History *history.History
	Clock   clock.WithTicker
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

// Clusters serves the ManagedClusters in sight as tables with the given columns.
func Clusters(from Source, columns rest.TableConvertor) *Storage {
	return &Storage{
		TableConvertor: columns, history: from.History, clock: from.Clock, watches: from.Watches, kind: visibility.Cluster,
		resource: viewv1.Resource("managedclusters"), singular: "managedcluster",
		newOne:  func() visibility.Object { return &clusterv1.ManagedCluster{} },
		newList: func() runtime.Object { return &clusterv1.ManagedClusterList{} },
		shown:   copied[clusterv1.ManagedCluster],
	}
}

// Sets serves the ManagedClusterSets in sight as tables with the given columns.
func Sets(from Source, columns rest.TableConvertor) *Storage {
	return &Storage{
		TableConvertor: columns, history: from.History, clock: from.Clock, watches: from.Watches, kind: visibility.Set,
		resource: viewv1.Resource("managedclustersets"), singular: "managedclusterset",
		newOne:  func() visibility.Object { return &clusterv1beta2.ManagedClusterSet{} },
		newList: func() runtime.Object { return &clusterv1beta2.ManagedClusterSetList{} },
		shown:   copied[clusterv1beta2.ManagedClusterSet],
	}
}

// copied returns a copy that shares what is below the first level, which nobody writes.
func copied[T any, P interface {
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
func (s *Storage) New() runtime.Object { return s.newOne() }

// NewList implements rest.Lister.
func (s *Storage) NewList() runtime.Object { return s.newList() }

// Destroy implements rest.Storage. What is served belongs to others.
func (s *Storage) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (s *Storage) NamespaceScoped() bool { return false }

// GetSingularName implements rest.SingularNameProvider.
func (s *Storage) GetSingularName() string { return s.singular }

// Get implements rest.Getter. What is not in sight is not found, whether it exists or not.
func (s *Storage) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	who, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.reachable(options.ResourceVersion); err != nil {
		return nil, err
	}
	now, _ := s.history.Now()
	entry, ok := now.World.ViewFor(who).Object(s.kind, name)
	if !ok {
		return nil, apierrors.NewNotFound(s.resource, name)
	}
	return s.at(entry.Object, entry.Revision), nil
}

// at returns a copy of an object that names a revision.
func (s *Storage) at(object visibility.Object, revision uint64) visibility.Object {
	out := s.shown(object)
	out.SetResourceVersion(text(revision))
	return out
}

func caller(ctx context.Context) (access.Subject, error) {
	user, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return access.Subject{}, apierrors.NewInternalError(errNobody)
	}
	return access.Subject{User: user.GetName(), Groups: slices.Clone(user.GetGroups())}, nil
}

var errNobody = errors.New("the request carries no user")

// reachable returns an error where the present may be older than the revision that a caller has seen.
func (s *Storage) reachable(resourceVersion string) error {
	revision, err := number(resourceVersion)
	if err != nil || revision == 0 || s.history.Known(revision) {
		return err
	}
	return expired()
}

// number reads a resource version; none, and "0", are 0: any will do.
func number(resourceVersion string) (uint64, error) {
	if resourceVersion == "" {
		return 0, nil
	}
	out, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest("the resource version is no number")
	}
	return out, nil
}

func text(revision uint64) string { return strconv.FormatUint(revision, 10) }

func expired() error { return apierrors.NewResourceExpired(history.ErrExpired.Error()) }

// list returns a list of objects at a revision.
func (s *Storage) list(items []runtime.Object, revision uint64, next string) (runtime.Object, error) {
	out := s.newList()
	if err := meta.SetList(out, items); err != nil {
		return nil, fmt.Errorf("listing %s: %w", s.resource.Resource, err)
	}
	about, err := meta.ListAccessor(out)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", s.resource.Resource, err)
	}
	about.SetResourceVersion(text(revision))
	about.SetContinue(next)
	return out, nil
}
