package host

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/views/viewcache"
	"github.com/berth-project/berth/internal/views/visibility"
)

// pauseTime is the least time between two versions. Pages get faster changes together.
const pauseTime = time.Second

// changes counts the versions of what pages show. A heartbeat is no change.
type changes struct {
	views *viewcache.Cache
	clock clock.WithTicker
	noted chan struct{}

	mu      sync.Mutex
	version uint64
	changed chan struct{}
}

func newChanges(views *viewcache.Cache, clock clock.WithTicker) *changes {
	return &changes{views: views, clock: clock, noted: make(chan struct{}, 1), version: 1, changed: make(chan struct{})}
}

// note reports that an object changed.
func (c *changes) note() {
	select {
	case c.noted <- struct{}{}:
	default: // one is waiting already
	}
}

// current returns the version, and a channel that is closed at the next.
func (c *changes) current() (version uint64, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version, c.changed
}

// run makes versions until the context ends.
func (c *changes) run(ctx context.Context) error {
	for seen := c.views.Current(); ; {
		current, delta, viewsChanged := c.views.Since(seen)
		matters := differs(seen.Snapshot, current.Snapshot, delta)
		if seen = current; !matters {
			select {
			case <-ctx.Done():
				return nil
			case <-viewsChanged:
				continue
			case <-c.noted:
			}
		}
		c.mu.Lock()
		c.version++
		close(c.changed)
		c.changed = make(chan struct{})
		c.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil
		case <-c.clock.After(pauseTime):
		}
	}
}

// differs reports whether two snapshots differ for a page. Agents write the status of a cluster again and again; what they repeat with
// another text or another amount is shown with the next state.
func differs(before, after *visibility.Snapshot, delta visibility.Delta) bool {
	if delta.AffectsAll || len(delta.Names[visibility.Set]) > 0 {
		return true
	}
	for name := range delta.Names[visibility.Cluster] {
		was, _ := before.Object(visibility.Cluster, name)
		is, _ := after.Object(visibility.Cluster, name)
		old, known := was.Object.(*clusterv1.ManagedCluster)
		now, exists := is.Object.(*clusterv1.ManagedCluster)
		if known != exists || exists && !sameOnPages(old, now) {
			return true
		}
	}
	return false
}

// sameOnPages reports whether two versions of a cluster have the same facts that pages group, colour and count by.
func sameOnPages(a, b *clusterv1.ManagedCluster) bool {
	return a.UID == b.UID && a.Generation == b.Generation && maps.Equal(a.Labels, b.Labels) &&
		a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		a.Spec.HubAcceptsClient == b.Spec.HubAcceptsClient && equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints) &&
		a.Status.Version == b.Status.Version && slices.Equal(a.Status.ClusterClaims, b.Status.ClusterClaims) &&
		slices.EqualFunc(a.Status.Conditions, b.Status.Conditions, func(x, y metav1.Condition) bool {
			return x.Type == y.Type && x.Status == y.Status && x.Reason == y.Reason
		})
}
