package managedcluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// SetGetter returns whether a set exists.
type SetGetter func(ctx context.Context, name string) (bool, error)

// setWarnings returns the warnings for a user who puts a cluster into a set that does not exist. A set that cannot be read causes none.
func (r Request) setWarnings(ctx context.Context, sets SetGetter) []string {
	const key = clusterv1beta2.ClusterSetLabel
	before, after := r.labels()
	name := after[key]
	if name == "" || name == before[key] {
		return nil
	}
	if exists, err := sets(ctx, name); err != nil || exists {
		return nil
	}
	return []string{fmt.Sprintf("the label %s names the set %q, which does not exist: the cluster is in no exclusive set until it is created",
		key, name)}
}

// newSetGetter reads sets from the cache.
func newSetGetter(cache client.Reader) SetGetter {
	return func(ctx context.Context, name string) (bool, error) {
		err := cache.Get(ctx, client.ObjectKey{Name: name}, &clusterv1beta2.ManagedClusterSet{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, client.IgnoreNotFound(err) //nolint:wrapcheck // no user reads it
	}
}
