package hub

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

const pollInterval = 25 * time.Millisecond

// awaitReady returns once the API server is ready, including the default roles of RBAC.
func awaitReady(ctx context.Context, config *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	var pending error
	err = wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		pending = client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		return pending == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the API server: %w: %w", context.Cause(ctx), pending)
	}
	return nil
}
