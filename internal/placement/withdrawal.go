package placement

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/placement/live"
	"github.com/berth-project/berth/internal/source/page"
)

const (
	// withdrawalPoll is how often the graces are looked at: a withdrawal takes effect this much later at most.
	withdrawalPoll = 100 * time.Millisecond
	// withdrawalRetry is the delay after a failed read, and for what the read has found again until the informer shows it.
	withdrawalRetry = time.Second
	// maxReads is how many objects of a kind are read one by one; more are read as a list.
	maxReads = 10
)

// withdrawals ends the withdrawals whose grace is over. No cluster leaves because something is missing in a cache: the API server is read
// once more before, for all placements together.
type withdrawals struct {
	fleet *live.Fleet
	// hub reads from the API server, without a cache.
	hub   client.Reader
	clock clock.WithTicker
	// held returns true while nothing ends, because a definition is missing. Nil: never.
	held func() bool
}

// run ends withdrawals until the context ends.
func (w *withdrawals) run(ctx context.Context) {
	ticker := w.clock.NewTicker(withdrawalPoll)
	defer ticker.Stop()
	var next time.Time // after a failure
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		now := w.clock.Now()
		if now.Before(next) || w.held != nil && w.held() {
			continue
		}
		if err := w.end(ctx, now); err != nil && ctx.Err() == nil {
			next = now.Add(withdrawalRetry)
			log.FromContext(ctx).Info("WARNING: clusters that may leave stay, because the API server cannot be read; trying again",
				"after", withdrawalRetry, "cause", err.Error())
		}
	}
}

// end ends what is due now.
func (w *withdrawals) end(ctx context.Context, now time.Time) error {
	due := w.fleet.DueWithdrawals(now)
	if due.Empty() {
		return nil
	}
	found, err := w.read(ctx, due)
	if err != nil {
		return err
	}
	w.fleet.EndWithdrawals(due, found, now, now.Add(withdrawalRetry))
	return nil
}

// read reads what is due from the API server.
func (w *withdrawals) read(ctx context.Context, due live.Due) (live.Found, error) {
	out := live.Found{Sets: map[string]bool{}, Bindings: map[fleet.Key]bool{}, Clusters: map[string]*clusterv1.ManagedCluster{}}
	err := readNamed(ctx, w.hub, due.Sets, &clusterv1beta2.ManagedClusterSetList{}, func(list *clusterv1beta2.ManagedClusterSetList) {
		for _, set := range list.Items {
			out.Sets[set.Name] = set.DeletionTimestamp.IsZero()
		}
	})
	if err != nil {
		return out, fmt.Errorf("reading ManagedClusterSets: %w", err)
	}
	var names []string
	for _, key := range due.Bindings {
		names = append(names, key.Name)
	}
	slices.Sort(names)
	bindings := &clusterv1beta2.ManagedClusterSetBindingList{}
	err = readNamed(ctx, w.hub, slices.Compact(names), bindings, func(list *clusterv1beta2.ManagedClusterSetBindingList) {
		for _, binding := range list.Items {
			out.Bindings[fleet.Key{Namespace: binding.Namespace, Name: binding.Name}] = binding.DeletionTimestamp.IsZero()
		}
	})
	if err != nil {
		return out, fmt.Errorf("reading ManagedClusterSetBindings: %w", err)
	}
	err = readNamed(ctx, w.hub, due.Clusters, &clusterv1.ManagedClusterList{}, func(list *clusterv1.ManagedClusterList) {
		for i := range list.Items {
			if slices.Contains(due.Clusters, list.Items[i].Name) {
				out.Clusters[list.Items[i].Name] = &list.Items[i]
			}
		}
	})
	if err != nil {
		return out, fmt.Errorf("reading ManagedClusters: %w", err)
	}
	return out, nil
}

// readNamed reads the objects of some names: each alone, or all objects of the kind if there are many names.
func readNamed[L client.ObjectList](ctx context.Context, hub client.Reader, names []string, empty L, visit func(L)) error {
	read := func(options ...client.ListOption) error {
		return page.Each(ctx, hub, empty, func(list L) error { visit(list); return nil }, options...)
	}
	if len(names) > maxReads {
		return read()
	}
	for _, name := range names {
		if err := read(client.MatchingFields{"metadata.name": name}); err != nil {
			return err
		}
	}
	return nil
}
