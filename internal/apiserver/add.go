package apiserver

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/apiserver/history"
	"github.com/berth-project/berth/internal/apiserver/sight"
	"github.com/berth-project/berth/internal/source/informer"
)

var (
	errUnfilled   = errors.New("serving the views: the caches were not filled")
	errNotServing = errors.New("the views are not served yet")
)

// Add lets a manager serve the views, whether it leads or not. The manager is ready once it does.
func Add(ctx context.Context, mgr manager.Manager, options Options) error {
	var keeper [4]byte
	_, _ = rand.Read(keeper[:]) // it never fails
	past := history.New(options.Clock, history.Keeper(binary.LittleEndian.Uint32(keeper[:])))
	synced, err := follow(ctx, mgr.GetCache(), past)
	if err != nil {
		return err
	}
	r := &runner{mgr: mgr, options: options, past: past, synced: synced}
	if err := errors.Join(mgr.Add(r), mgr.AddReadyzCheck(Name, r.check)); err != nil {
		return fmt.Errorf("adding the views: %w", err)
	}
	return nil
}

// runner is the server as a part of a manager.
type runner struct {
	mgr     manager.Manager
	options Options
	past    *history.History
	synced  []toolscache.InformerSynced
	serving atomic.Bool
}

// check says whether requests are answered.
func (r *runner) check(*http.Request) error {
	if !r.serving.Load() {
		return errNotServing
	}
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica serves.
func (*runner) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable. Nobody is answered before the caches are filled: a list that lacks something
// because it is not known yet would be a lie.
func (r *runner) Start(ctx context.Context) error {
	defer r.options.Listener.Close() //nolint:errcheck // closed already where the server ran
	if !toolscache.WaitForCacheSync(ctx.Done(), r.synced...) {
		if ctx.Err() != nil {
			return nil // told to stop
		}
		return errUnfilled
	}
	select {
	case <-r.options.Certificate.Ready():
	case <-ctx.Done():
		return nil
	}
	r.past.Publish()
	server, err := newServer(ctx, r.mgr.GetConfig(), r.options, r.past)
	if err != nil {
		return err
	}
	go r.past.Run(ctx)
	r.serving.Store(true)
	if err := server.PrepareRun().RunWithContext(ctx); err != nil {
		return fmt.Errorf("serving the views: %w", err)
	}
	return nil
}

// follow lets a history follow the informers of all that decides who sees what.
func follow(ctx context.Context, informers cache.Cache, past *history.History) ([]toolscache.InformerSynced, error) {
	var synced []toolscache.InformerSynced
	for _, add := range []func() (toolscache.InformerSynced, error){
		func() (toolscache.InformerSynced, error) {
			return stage(ctx, informers, past, &clusterv1.ManagedCluster{}, (*sight.Edit).SetCluster, (*sight.Edit).DeleteCluster)
		},
		func() (toolscache.InformerSynced, error) {
			return stage(ctx, informers, past, &clusterv1beta2.ManagedClusterSet{}, (*sight.Edit).SetSet, (*sight.Edit).DeleteSet)
		},
		func() (toolscache.InformerSynced, error) {
			return stage(ctx, informers, past, &rbacv1.ClusterRole{}, (*sight.Edit).SetRole, (*sight.Edit).DeleteRole)
		},
		func() (toolscache.InformerSynced, error) {
			return stage(ctx, informers, past, &rbacv1.ClusterRoleBinding{}, (*sight.Edit).SetBinding, (*sight.Edit).DeleteBinding)
		},
	} {
		has, err := add()
		if err != nil {
			return nil, err
		}
		synced = append(synced, has)
	}
	return synced, nil
}

// stage stages every change of one kind.
func stage[T client.Object](
	ctx context.Context, informers cache.Cache, past *history.History, kind T,
	set func(*sight.Edit, T), remove func(*sight.Edit, string),
) (toolscache.InformerSynced, error) {
	return informer.Follow(ctx, informers, kind,
		func(object T) { past.Stage(func(e *sight.Edit) { set(e, object) }) },
		func(name string) { past.Stage(func(e *sight.Edit) { remove(e, name) }) })
}
