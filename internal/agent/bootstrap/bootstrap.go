// Package bootstrap registers a cluster with a hub by a bootstrap credential: it creates the ManagedCluster.
//
// It creates the ManagedCluster not accepted and without labels, taints or sets, and never changes an existing ManagedCluster. Acceptance
// is the decision of an administrator of the hub.
package bootstrap

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/client"
)

// Hub reads and creates ManagedClusters.
type Hub interface {
	Get(ctx context.Context, object client.Object, into runtime.Object) error
	Create(ctx context.Context, object client.Object, body, into runtime.Object) error
}

// EnsureCluster creates the ManagedCluster if the hub has none. The identity of a join token may only read it: its
// administrator has created it.
func EnsureCluster(ctx context.Context, hub Hub, name string, configs []clusterv1.ClientConfig) error {
	err := hub.Get(ctx, client.ManagedCluster(name), &clusterv1.ManagedCluster{})
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return err //nolint:wrapcheck // the client names the object
	}
	err = hub.Create(ctx, client.ManagedCluster(""), NewCluster(name, configs), &clusterv1.ManagedCluster{})
	switch {
	case err == nil || apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; the hub has no ManagedCluster %s and this bootstrap credential may not create it: "+
			"create it with `kubectl berth token create --cluster %s`, or give the agent the name that the token is for", err, name, name)
	default:
		return err //nolint:wrapcheck // the client names the object
	}
}

// NewCluster returns a ManagedCluster that waits for its acceptance.
func NewCluster(name string, configs []clusterv1.ClientConfig) *clusterv1.ManagedCluster {
	return &clusterv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       clusterv1.ManagedClusterSpec{ManagedClusterClientConfigs: configs},
	}
}
