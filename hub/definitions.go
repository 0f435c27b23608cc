package hub

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/berth-project/berth/hub/internal/manifest"
)

// definitionInterval is how often a hub looks at definitions that are being deleted.
const definitionInterval = time.Second

// runManager runs the manager. A manager that ends while a definition is missing, because it needs the definition, is started again: the
// API server goes on meanwhile.
func (p *controlPlane) runManager(ctx context.Context, manifests manifest.Bundle) error {
	for {
		err := p.opts.Manager(ctx, p.dir.Path(managerKubeconfig))
		if err == nil || ctx.Err() != nil {
			return err
		}
		if going, readErr := manifests.Going(ctx, p.admin); readErr != nil || len(going) == 0 {
			return err
		}
		klog.FromContext(ctx).Error(err, "The manager does not run, because a definition is missing; starting it again")
		if !sleep(ctx, definitionInterval) {
			return err
		}
	}
}

// awaitDefinitions puts the definitions back that were being deleted when the hub started, each once it is gone, and installs the objects
// once the manager is ready. It runs until the hub stops.
func (p *controlPlane) awaitDefinitions(ctx context.Context, going []string, manifests, others manifest.Bundle) error {
	log := klog.FromContext(ctx)
	log.Error(nil, "Definitions of this hub are being deleted. The API server runs, and nothing is decided or delivered until they are gone "+
		"and put back, which the hub does. If one does not go, finalizers on its objects keep it: kubectl get crd NAME -o yaml names them. "+
		"Then apply the objects again, from a file or a backup", "definitions", strings.Join(going, ", "))
	definitions, _ := manifests.Split()
	err := wait.PollUntilContextCancel(ctx, definitionInterval, true, func(ctx context.Context) (bool, error) {
		going, err := manifests.Going(ctx, p.admin)
		if err != nil {
			log.Error(err, "The definitions cannot be read; trying again")
			return false, nil
		}
		if err := definitions.InstallMissing(ctx, p.admin); err != nil {
			log.Error(err, "A definition cannot be put back; trying again")
			return false, nil
		}
		return len(going) == 0, nil
	})
	if err == nil {
		log.Info("All definitions are back. Apply the objects that went with them, from a file or a backup",
			"definitions", strings.Join(going, ", "))
		err = p.awaitManager(ctx)
	}
	if err == nil {
		err = others.InstallSequentially(ctx, p.admin)
	}
	if err != nil && ctx.Err() == nil {
		log.Error(err, "Objects of this hub are not installed: restart it")
	}
	<-ctx.Done()
	return ctx.Err() //nolint:wrapcheck // the end of the hub
}

// sleep waits for some time; false when the context ends before.
func sleep(ctx context.Context, length time.Duration) bool {
	timer := time.NewTimer(length) //nolint:forbidigo // a server in real time
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
