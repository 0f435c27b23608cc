// Package hub runs a whole hub in one process: etcd, the Kubernetes API server, the controllers that a control plane without
// nodes needs, and Berth's manager. It is for users without a hub, for trying Berth, and for tests against a real API server.
//
// It owns the order of start and stop, the certificates and the kubeconfigs. It does not depend on the manager or on the
// content of the manifests, and leaves Kubernetes itself to package embed. The invariant: a hub runs as a whole or stops as a
// whole, with the first error of any component. Nothing in it ends the process.
//
// A process may start one hub in its life, because the components of Kubernetes keep flags, feature gates and metrics in
// globals. A program that needs several hubs starts a process for each, as package hubtest does.
package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub/embed"
	"github.com/berth-project/berth/hub/internal/datadir"
	"github.com/berth-project/berth/hub/internal/manifest"
	"github.com/berth-project/berth/hub/internal/supervise"
)

// ErrStarted is returned when this process has started a hub before.
var ErrStarted = errors.New("starting the hub: this process has started one before, and Kubernetes' globals allow one per " +
	"process; start another process")

// started guards the globals of Kubernetes: see the package comment.
var started atomic.Bool //nolint:gochecknoglobals // it mirrors Kubernetes' process-wide state

// Hub is a running hub.
type Hub struct {
	kubeconfig string
	versions   embed.Versions
	config     *rest.Config
	cancel     context.CancelFunc
	done       chan struct{}
	err        error // set before done closes
}

// Start starts a hub and returns when it is ready: the API server serves, all manifests are applied and served, and the
// controllers and the manager run. The hub stops when ctx ends, when Stop is called, or when a component fails. Wait returns
// the reason.
func Start(ctx context.Context, opts Options) (*Hub, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	opts.DatabaseQuota, opts.MinFreeDisk = cmp.Or(opts.DatabaseQuota, DefaultDatabaseQuota), cmp.Or(opts.MinFreeDisk, DefaultMinFreeDisk)
	if opts.Components == nil {
		opts.Components = Linked{}
	}
	manifests, err := manifest.Parse(opts.Manifests...)
	if err != nil {
		return nil, err
	}
	objects, err := manifest.Parse(opts.Objects...)
	if err != nil {
		return nil, err
	}
	dir, err := datadir.Open(opts.DataDir)
	if err != nil {
		return nil, err
	}
	hub, err := start(ctx, opts, dir, manifests, objects)
	if err != nil {
		dir.Close()
		return nil, err
	}
	return hub, nil
}

// start reserves the process and starts the components in a locked folder.
func start(ctx context.Context, opts Options, dir *datadir.Dir, manifests, objects manifest.Bundle) (*Hub, error) {
	if err := dir.RequireVersion(opts.Components.Versions().Kubernetes); err != nil {
		return nil, err
	}
	keys, err := issueKeys(dir.Path(datadir.PKIFolder), opts.hosts(), clock.RealClock{})
	if err != nil {
		return nil, err
	}
	listener, err := dir.Listen(ctx, opts.host(), opts.Port)
	if err != nil {
		return nil, err
	}
	if !started.CompareAndSwap(false, true) {
		return nil, errors.Join(ErrStarted, listener.Close())
	}
	log := newLogWriter(dir.Path(datadir.LogFile), opts.Log)
	plant := &controlPlane{opts: opts, dir: dir, keys: keys, listener: listener, log: log, parts: supervise.New()}
	if err := plant.start(ctx, manifests, objects); err != nil {
		// An error of stopping follows from the first error.
		_ = plant.stop(context.WithoutCancel(ctx))
		return nil, err
	}
	return newHub(ctx, plant), nil
}

// newHub returns the hub, and stops the control plane when the context ends or a component fails.
func newHub(ctx context.Context, plant *controlPlane) *Hub {
	lifetime, cancel := context.WithCancel(ctx)
	hub := &Hub{
		kubeconfig: plant.dir.Path(datadir.AdminKubeconfig), versions: plant.opts.Components.Versions(), config: plant.admin,
		cancel: cancel, done: make(chan struct{}),
	}
	go func() {
		defer close(hub.done)
		defer cancel()
		select {
		case <-lifetime.Done():
		case <-plant.parts.Failed():
		}
		failure := plant.parts.Err()
		hub.err = errors.Join(failure, plant.stop(context.WithoutCancel(ctx)))
		plant.dir.Close()
	}()
	return hub
}

// Kubeconfig returns the path of the administrator's kubeconfig. It stays valid over restarts while the API server keeps its
// port.
func (h *Hub) Kubeconfig() string { return h.kubeconfig }

// Versions returns the versions of the parts of the hub.
func (h *Hub) Versions() embed.Versions { return h.versions }

// RESTConfig returns a copy of the administrator's client configuration.
func (h *Hub) RESTConfig() *rest.Config { return rest.CopyConfig(h.config) }

// Done closes when the hub has stopped.
func (h *Hub) Done() <-chan struct{} { return h.done }

// Wait blocks until the hub has stopped. It returns the error that stopped it or that occurred during the stop, and nil after a
// clean stop.
func (h *Hub) Wait() error {
	<-h.done
	if h.err != nil {
		return fmt.Errorf("hub stopped: %w", h.err)
	}
	return nil
}

// Stop stops the hub, the manager first and etcd last, and waits for it.
func (h *Hub) Stop() error {
	h.cancel()
	return h.Wait()
}
