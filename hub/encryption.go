package hub

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berth-project/berth/hub/internal/datadir"
	"github.com/berth-project/berth/hub/internal/encryption"
)

const (
	// rewriteInterval is the time between two attempts to write objects anew.
	rewriteInterval = time.Minute
	// rewriteQPS limits the writes, which are no hurry.
	rewriteQPS = 50
)

// rewriteEncrypted writes objects anew after the choice of what is encrypted has changed, and waits for the end of ctx. It retries after
// a failure.
func (p *controlPlane) rewriteEncrypted(ctx context.Context) error {
	config := rest.CopyConfig(p.admin)
	config.QPS, config.Burst = rewriteQPS, rewriteQPS
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	// The error is that of ctx: the hub stops.
	_ = wait.PollUntilContextCancel(ctx, rewriteInterval, true, func(ctx context.Context) (bool, error) {
		err := encryption.Rewrite(ctx, client, p.dir.Path(datadir.PKIFolder), p.opts.Encrypt)
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Changing the encryption of stored objects failed; trying again", "interval", rewriteInterval)
		}
		return err == nil, nil
	})
	<-ctx.Done()
	return nil
}
