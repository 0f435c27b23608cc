// Package trust follows the CA bundle that a hub publishes, so that the agent still verifies the hub after its CA has changed.
//
// It owns which bundle to take. The hub publishes it in the namespace of the cluster. The invariant: a bundle is taken only over
// a connection that a CA of the same bundle verified, so that a wrong bundle never separates an agent from its hub.
package trust

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/agent/annotation"
	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/cluster"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	configMapName = "kube-root-ca.crt"
	bundleKey     = "ca.crt"

	readInterval = 24 * time.Hour
	// lookInterval is how often to look whether the agent reconnected or a read is due.
	lookInterval = 15 * time.Second
	// frequentReads is the number of reads after which the pause is the usual one.
	frequentReads = 4
)

// pause returns the pause after a number of reads since the last interruption. The first reads are 1, 3, 7 and 15 minutes after
// it. A hub that has restarted publishes its bundle after it serves. The permission to read it follows the acceptance of the
// cluster.
func pause(reads int, err error) time.Duration {
	if reads > frequentReads && err == nil {
		return readInterval
	}
	return time.Minute << (min(reads, frequentReads) - 1)
}

// Takes returns whether to replace a bundle by the published one: it has other certificates, and among them the root that
// verified the connection.
func Takes(current, published, root []byte) bool {
	have, err := registration.CABundle(current)
	if err != nil {
		return false // the agent trusts the CAs of the system
	}
	found, err := registration.CABundle(published)
	if err != nil || len(root) == 0 || slices.EqualFunc(have, found, bytes.Equal) {
		return false
	}
	return slices.ContainsFunc(found, func(certificate []byte) bool { return bytes.Equal(certificate, root) })
}

// Hub reads the bundle and writes the annotation.
type Hub interface {
	annotation.Writer
	Get(ctx context.Context, object client.Object, into runtime.Object) error
}

// Gate returns the root that verified the last connection, and the number of interruptions. Wait returns when requests to the
// hub may be sent.
type Gate interface {
	Root() []byte
	Failures() int
	Wait(ctx context.Context) error
}

// Cluster is the ManagedCluster of the agent.
type Cluster interface {
	State() cluster.State
	Changed() <-chan struct{}
}

// Follower follows the bundle of one hub.
type Follower struct {
	Hub   Hub
	Gate  Gate
	Clock clock.Clock
	Name  string
	// Bundle is the bundle that the agent uses.
	Bundle []byte
	// Cluster is the ManagedCluster of the agent.
	Cluster Cluster
	// Store stores another bundle.
	Store func(ctx context.Context, bundle []byte) error
	Log   *slog.Logger
}

// Run reads the bundle once a day, and several times in the first minutes after the agent has connected or was accepted. It
// returns after another bundle is stored, or when the context ends.
func (f *Follower) Run(ctx context.Context) {
	failures, reads := -1, 0
	var next time.Time
	for ctx.Err() == nil {
		changed := f.Cluster.Changed()
		if !f.Cluster.State().Accepted() {
			failures = -1
			_ = backoff.SleepUntil(ctx, f.Clock, readInterval, changed) // the loop ends with the context
			continue
		}
		if now := f.Gate.Failures(); now != failures {
			failures, reads, next = now, 0, f.Clock.Now()
		}
		if !f.Clock.Now().Before(next) {
			if f.Gate.Wait(ctx) != nil {
				return
			}
			taken, err := f.follow(ctx)
			if taken {
				return
			}
			if err != nil {
				f.Log.Warn("the CA bundle of the hub was not read", "error", err)
			}
			reads++
			next = f.Clock.Now().Add(pause(reads, err))
		}
		_ = backoff.Sleep(ctx, f.Clock, lookInterval) // the loop ends with the context
	}
}

// follow stores the published bundle where it is another one, and reports the hash of the bundle that the agent uses.
func (f *Follower) follow(ctx context.Context) (taken bool, err error) {
	found := &corev1.ConfigMap{}
	err = f.Hub.Get(ctx, client.ConfigMap(f.Name, configMapName), found)
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
		return false, nil // this hub does not publish its bundle to agents
	case err != nil:
		return false, err //nolint:wrapcheck // the client names the ConfigMap
	}
	if published := []byte(found.Data[bundleKey]); Takes(f.Bundle, published, f.Gate.Root()) {
		if err := f.Store(ctx, published); err != nil {
			return false, fmt.Errorf("storing the CA bundle of the hub: %w", err)
		}
		f.Log.Info("the hub published another CA bundle; it is stored and used from now on")
		return true, nil
	}
	return false, f.annotate(ctx)
}

// annotate reports the hash of the bundle where the ManagedCluster has another.
func (f *Follower) annotate(ctx context.Context) error {
	hash, err := registration.CABundleHash(f.Bundle)
	state := f.Cluster.State()
	if err != nil || state.Cluster == nil || state.Cluster.Annotations[registration.CAHashAnnotationKey] == hash {
		return nil //nolint:nilerr // an agent that trusts the CAs of the system has no bundle to report
	}
	return annotation.Store(ctx, f.Hub, f.Name, map[string]string{
		registration.CAHashAnnotationKey: hash,
	}) //nolint:wrapcheck // it names the object
}
