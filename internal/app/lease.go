package app

import (
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const leaseName = "berth-manager"

// lease returns the lock that the leader holds. It records no events: the lease itself says who holds it, since when,
// and how often it changed hands.
func lease(hub *rest.Config, options Options) (resourcelock.Interface, error) {
	holder := options.Identity
	if holder == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("naming the holder of the lease: %w", err)
		}
		holder = host + "_" + string(uuid.NewUUID())
	}
	config := rest.AddUserAgent(rest.CopyConfig(hub), "leader-election")
	config.Timeout = max(options.RenewDeadline/2, time.Second) // one request that hangs must not cost the lease
	client, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reaching the lease: %w", err)
	}
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: options.LeaderElectionNamespace, Name: leaseName},
		Client:     client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: holder},
	}, nil
}
