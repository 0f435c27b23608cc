package manager

import (
	"fmt"
	"net"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/berth-project/berth/internal/kube/version"
)

const (
	leaseName = "berth-manager"
	// versionLabel is on the lease, for `kubectl berth version --with-hub`.
	versionLabel = "app.kubernetes.io/version"
	keepAlive    = 30 * time.Second
)

// newLeaseLock returns the lock that the leader holds. It records no events: the lease holds its holder, the time of the
// last renewal and the number of transitions.
func newLeaseLock(hub *rest.Config, options Options) (resourcelock.Interface, error) {
	holder := options.Identity
	if holder == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("naming the holder of the lease: %w", err)
		}
		holder = host + "_" + string(uuid.NewUUID())
	}
	config := rest.AddUserAgent(rest.CopyConfig(hub), "leader-election")
	config.Timeout = max(options.RenewDeadline/2, time.Second) // a request that hangs must not lose the lease
	// Renewals have a connection of their own and no rate limit, so that they wait for no other request.
	config.Dial = (&net.Dialer{Timeout: config.Timeout, KeepAlive: keepAlive}).DialContext
	config.QPS, config.RateLimiter = -1, nil
	client, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reaching the lease: %w", err)
	}
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: options.LeaderElectionNamespace, Name: leaseName},
		Client:     client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: holder},
		Labels:     map[string]string{versionLabel: version.Label()},
	}, nil
}
