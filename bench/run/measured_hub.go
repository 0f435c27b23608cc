package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/bench/hub"
	"github.com/berth-project/berth/internal/cli/generate"
)

const (
	// clientCount is how many clients write in parallel.
	clientCount = 32
	// noticeTimeout is far longer than a manager needs to react to an object.
	noticeTimeout = time.Minute
	noticePoll    = 2 * time.Millisecond
	// leaseSeconds is longer than any run.
	leaseSeconds = 24 * 60 * 60
)

// atOnce returns the arguments of a manager that follows every change at once. The engine and the oracle beside it have a fleet as it is,
// and no past for graces, holds and brakes.
func atOnce() []string { return []string{"--withdrawal-grace=0", "--expression-hold=0", "--brake=off"} }

// measuredHub is a hub that is measured beside another hub, with or without a manager.
type measuredHub struct {
	hub     *hub.Hub
	manager *hub.Manager // nil on the open side
	admin   client.WithWatch
}

// newMeasuredHub starts a hub and stores a fleet without its placements. It starts the manager last, so that storing is equally
// fast on both sides.
func newMeasuredHub(ctx context.Context, s Options, f *generate.Fleet, managed bool) (*measuredHub, error) {
	started, err := hub.Start(ctx, s.Bin)
	if err != nil {
		return nil, err
	}
	return measure(ctx, started, f, managed)
}

// measure stores a fleet on a hub that has just started. It stops the hub after an error.
func measure(ctx context.Context, started *hub.Hub, f *generate.Fleet, managed bool) (out *measuredHub, err error) {
	out = &measuredHub{hub: started}
	if out.admin, err = started.Admin(); err == nil {
		err = out.store(ctx, f)
	}
	if err == nil && managed {
		out.manager, err = started.StartManager(ctx, atOnce()...)
	}
	if err != nil {
		out.stop()
		return nil, err
	}
	return out, nil
}

// stop stops the manager and then the hub.
func (m *measuredHub) stop() {
	if m.manager != nil {
		m.manager.Stop()
	}
	m.hub.Stop()
}

// newAccount returns a client for a new account.
func (m *measuredHub) newAccount(ctx context.Context, name string, rules ...rbacv1.PolicyRule) (client.Client, error) {
	config, err := m.hub.Account(ctx, name, rules...)
	if err != nil {
		return nil, err
	}
	return hub.Client(config)
}

// store stores a fleet without its placements.
func (m *measuredHub) store(ctx context.Context, f *generate.Fleet) error {
	namespaces := slices.Clone(f.Namespaces)
	for _, score := range f.Scores {
		namespaces = append(namespaces, score.Namespace)
	}
	err := inParallel(ctx, len(namespaces), func(ctx context.Context, _, i int) error {
		return m.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaces[i]}})
	})
	if err != nil {
		return fmt.Errorf("storing the fleet: %w", err)
	}
	for _, set := range f.Sets {
		if err := m.admin.Create(ctx, set.DeepCopy()); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("storing the fleet: %w", err)
		}
	}
	for _, binding := range f.Bindings {
		if err := m.admin.Create(ctx, binding.DeepCopy()); err != nil {
			return fmt.Errorf("storing the fleet: %w", err)
		}
	}
	err = inParallel(ctx, len(f.Clusters), func(ctx context.Context, _, i int) error { return m.storeCluster(ctx, f.Clusters[i]) })
	if err == nil {
		err = inParallel(ctx, len(f.Scores), func(ctx context.Context, _, i int) error { return m.storeScore(ctx, f.Scores[i]) })
	}
	if err != nil {
		return fmt.Errorf("storing the fleet: %w", err)
	}
	return nil
}

// storeCluster stores a cluster without an agent. A manager simulates the cluster at the same time, and storeCluster overwrites
// that status.
func (m *measuredHub) storeCluster(ctx context.Context, cluster *clusterv1.ManagedCluster) error {
	stored := cluster.DeepCopy()
	stored.Spec.LeaseDurationSeconds = leaseSeconds
	if err := m.admin.Create(ctx, stored); err != nil {
		return err
	}
	created := stored.DeepCopy()
	stored.Status = cluster.DeepCopy().Status
	return m.admin.Status().Patch(ctx, stored, client.MergeFrom(created))
}

func (m *measuredHub) storeScore(ctx context.Context, score *clusterv1alpha1.AddOnPlacementScore) error {
	stored := score.DeepCopy()
	if err := m.admin.Create(ctx, stored); err != nil {
		return err
	}
	stored.Status = score.DeepCopy().Status
	return m.admin.Status().Update(ctx, stored)
}

// inParallel calls do for every number below count, in parallel with the numbered clients, until the first error.
func inParallel(ctx context.Context, count int, do func(ctx context.Context, hand, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var working sync.WaitGroup
	for hand := range clientCount {
		working.Go(func() {
			for i := int(next.Add(1)) - 1; i < count && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := do(ctx, hand, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	working.Wait()
	return context.Cause(ctx)
}

var errNotNoticed = errors.New("the manager has not reacted")

// awaitNoticed waits until the manager has written to an object.
func (m *measuredHub) awaitNoticed(ctx context.Context, object client.Object, noticed func() bool) error {
	err := wait.PollUntilContextTimeout(ctx, noticePoll, noticeTimeout, false, func(ctx context.Context) (bool, error) {
		if err := m.admin.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return false, fmt.Errorf("reading %s back: %w", object.GetName(), err)
		}
		return noticed(), nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("waiting for %s: %w", object.GetName(), errNotNoticed)
	}
	return err
}
