// Package hub runs a whole hub in one process: etcd, the Kubernetes API server,
// the controller loops that a control plane without nodes needs, and Berth's
// manager beside them. It is for those who have no hub yet, who try Berth out,
// who test against the real thing.
//
// It owns the order of start and stop, the certificates and the kubeconfigs. It
// refuses to know what the manager does and what the manifests hold, and leaves
// Kubernetes itself to package embed. The invariant: a hub either runs as a whole
// or stops as a whole, with the first error of any part; nothing in it ends the
// process.
//
// A caller may start one hub per process, ever: the parts of Kubernetes share
// flags, feature gates and metrics in globals that cannot be taken down. Programs
// that need several hubs start a process each; package hubtest does that.
package hub

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub/internal/datadir"
	"github.com/berth-project/berth/hub/internal/manifest"
	"github.com/berth-project/berth/hub/internal/supervise"
)

// ErrStarted says that this process has started a hub before.
var ErrStarted = errors.New("starting the hub: this process has started one before, and Kubernetes' globals allow one per process; start another process")

// started guards globals that are not ours: see the package comment.
var started atomic.Bool //nolint:gochecknoglobals // it mirrors Kubernetes' process-wide state

// Hub is a running hub.
type Hub struct {
	kubeconfig string
	config     *rest.Config
	cancel     context.CancelFunc
	done       chan struct{}
	err        error // set before done closes
}

// Start starts a hub and returns when it is ready: the API server answers, all
// manifests are applied and served, the controllers and the manager have been
// started. The hub stops when ctx ends, when Stop is called, or when a part of it
// fails; Wait tells why.
func Start(ctx context.Context, opts Options) (*Hub, error) {
	if err := opts.validate(); err != nil {
		return nil, err
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

// start claims the process and brings the parts up in a locked folder.
func start(ctx context.Context, opts Options, dir *datadir.Dir, manifests, objects manifest.Bundle) (*Hub, error) {
	keys, err := issueKeys(dir.Path(datadir.PKIFolder), clock.RealClock{})
	if err != nil {
		return nil, err
	}
	listener, err := dir.Listen(ctx, opts.Port)
	if err != nil {
		return nil, err
	}
	if !started.CompareAndSwap(false, true) {
		return nil, errors.Join(ErrStarted, listener.Close())
	}
	log := newLogWriter(dir.Path(datadir.LogFile), opts.Log)
	plant := &controlPlane{opts: opts, dir: dir, keys: keys, listener: listener, log: log, parts: supervise.New()}
	if err := plant.start(ctx, manifests, objects); err != nil {
		// What stopping reports is a consequence of the error at hand.
		_ = plant.stop(context.WithoutCancel(ctx))
		return nil, err
	}
	return newHub(ctx, plant), nil
}

// newHub returns the hub and stops the plant when it is over.
func newHub(ctx context.Context, plant *controlPlane) *Hub {
	lifetime, cancel := context.WithCancel(ctx)
	hub := &Hub{kubeconfig: plant.dir.Path(datadir.AdminKubeconfig), config: plant.admin, cancel: cancel, done: make(chan struct{})}
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

// Kubeconfig returns the path of the administrator's kubeconfig. It stays valid
// over restarts as long as the API server's port stays free.
func (h *Hub) Kubeconfig() string { return h.kubeconfig }

// RESTConfig returns a client configuration for the administrator, the caller's
// to change.
func (h *Hub) RESTConfig() *rest.Config { return rest.CopyConfig(h.config) }

// Done closes when the hub has stopped, for whatever reason.
func (h *Hub) Done() <-chan struct{} { return h.done }

// Wait blocks until the hub has stopped and returns the error that stopped it or
// that stopping met, and nil if it stopped cleanly because it was told to.
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
