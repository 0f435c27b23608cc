package delivery

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/delivery/report"
)

var errNotStarted = errors.New("the controller replicaset has not started")

// Reader reads what the controller plans from, for surfaces that show it. Options has it. It is safe for concurrent use.
type Reader struct {
	mu         sync.Mutex
	reconciler *reconciler
}

func (r *Reader) use(by *reconciler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reconciler = by
}

// Input returns what the next plan of a set is made from. It must not be changed. The error of a set that does not exist is NotFound.
func (r *Reader) Input(ctx context.Context, key types.NamespacedName) (plan.Input, error) {
	r.mu.Lock()
	by := r.reconciler
	r.mu.Unlock()
	if by == nil {
		return plan.Input{}, errNotStarted
	}
	set := &workv1alpha1.ManifestWorkReplicaSet{}
	if err := by.client.Get(ctx, key, set); err != nil {
		return plan.Input{}, err //nolint:wrapcheck // the caller reads the kind of the error
	}
	in, _, err := by.gather(ctx, newSetState(), set) // the state of the set is for its passes alone
	if known := by.known(key); known != nil {
		in.Faults = known.faults.ByCluster(in.Now)
	}
	if err != nil {
		return in, err
	}
	clusters := &clusterv1.ManagedClusterList{}
	if err := by.client.List(ctx, clusters, client.UnsafeDisableDeepCopy); err != nil {
		return in, fmt.Errorf("listing the clusters: %w", err)
	}
	in.Unknown = report.UnknownOf(clusters.Items)
	return in, nil
}
