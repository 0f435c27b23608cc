package views

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	viewv1 "github.com/berth-project/berth/api/view/v1"
	viewconfig "github.com/berth-project/berth/config/apiserver"
	"github.com/berth-project/berth/internal/source/informer"
	"github.com/berth-project/berth/internal/views/leader"
	"github.com/berth-project/berth/internal/views/viewcache"
	"github.com/berth-project/berth/internal/views/visibility"
)

var (
	errCachesNotSynced = errors.New("serving the views: the caches did not sync")
	errNotServing      = errors.New("the views are not served yet")
)

// Add adds the server of the views to a manager, and returns what users may see. Every replica serves, and is ready once it does.
func Add(ctx context.Context, mgr manager.Manager, options Options) (*viewcache.Cache, error) {
	var instanceID [4]byte
	_, _ = rand.Read(instanceID[:]) // it never fails
	views := viewcache.New(options.Clock, binary.LittleEndian.Uint32(instanceID[:]))
	synced, err := follow(ctx, mgr.GetCache(), views)
	if err != nil {
		return nil, err
	}
	led := leader.New(leader.Options{
		Hub: mgr.GetConfig(), Reader: mgr.GetAPIReader(), Writer: mgr.GetClient(), Namespace: options.Namespace, Address: options.Address,
		ServerName: viewconfig.ServerName, CABundle: authorities(mgr.GetAPIReader()), Clock: options.Clock,
	})
	r := &runner{mgr: mgr, options: options, views: views, synced: synced, leader: led}
	if err := errors.Join(mgr.Add(r), mgr.Add(led), mgr.AddReadyzCheck(Name, r.check)); err != nil {
		return nil, fmt.Errorf("adding the views: %w", err)
	}
	return views, nil
}

// runner runs the server in a manager.
type runner struct {
	mgr     manager.Manager
	options Options
	views   *viewcache.Cache
	synced  toolscache.InformerSynced
	leader  *leader.Leader
	serving atomic.Bool
}

// check is the readiness check.
func (r *runner) check(*http.Request) error {
	if !r.serving.Load() {
		return errNotServing
	}
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica serves.
func (*runner) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable. It serves once the caches are filled: an earlier list would lack objects.
func (r *runner) Start(ctx context.Context) error {
	defer r.options.Listener.Close() //nolint:errcheck // the server has closed it where it ran
	if !toolscache.WaitForCacheSync(ctx.Done(), r.synced) {
		if ctx.Err() != nil {
			return nil
		}
		return errCachesNotSynced
	}
	select {
	case <-r.options.Certificate.Ready():
	case <-ctx.Done():
		return nil
	}
	r.views.Publish()
	server, err := newServer(ctx, r.mgr.GetConfig(), r.options, r.views, r.leader)
	if err != nil {
		return err
	}
	go r.views.Run(ctx)
	r.serving.Store(true)
	if err := server.PrepareRun().RunWithContext(ctx); err != nil {
		return fmt.Errorf("serving the views: %w", err)
	}
	return nil
}

// authorities returns a function that reads the CA bundle with which the API server verifies the views.
func authorities(reader client.Reader) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		registered := &unstructured.Unstructured{}
		registered.SetAPIVersion("apiregistration.k8s.io/v1")
		registered.SetKind("APIService")
		name := viewv1.SchemeGroupVersion.Version + "." + viewv1.GroupName
		if err := reader.Get(ctx, client.ObjectKey{Name: name}, registered); err != nil {
			return nil, fmt.Errorf("reading the APIService %s: %w", name, err)
		}
		encoded, _, err := unstructured.NestedString(registered.Object, "spec", "caBundle")
		if err != nil {
			return nil, fmt.Errorf("reading the CA bundle of the APIService %s: %w", name, err)
		}
		out, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, fmt.Errorf("reading the CA bundle of the APIService %s: %w", name, err)
		}
		return out, nil
	}
}

// follow adds the informers of all objects that decide which objects a caller may see.
func follow(ctx context.Context, informers cache.Cache, views *viewcache.Cache) (toolscache.InformerSynced, error) {
	return informer.Watch(ctx, informers,
		stage(views, &clusterv1.ManagedCluster{}, (*visibility.Edit).SetCluster, (*visibility.Edit).DeleteCluster),
		stage(views, &clusterv1beta2.ManagedClusterSet{}, (*visibility.Edit).SetSet, (*visibility.Edit).DeleteSet),
		stage(views, &rbacv1.ClusterRole{}, (*visibility.Edit).SetRole, (*visibility.Edit).DeleteRole),
		stage(views, &rbacv1.ClusterRoleBinding{}, (*visibility.Edit).SetBinding, (*visibility.Edit).DeleteBinding))
}

// stage stages the changes of one kind.
func stage[T client.Object](views *viewcache.Cache, kind T, set func(*visibility.Edit, T),
	remove func(*visibility.Edit, string),
) informer.Subscription {
	return informer.To(kind,
		func(_, object T) { views.Stage(func(e *visibility.Edit) { set(e, object) }) },
		func(object T) { views.Stage(func(e *visibility.Edit) { remove(e, object.GetName()) }) })
}
