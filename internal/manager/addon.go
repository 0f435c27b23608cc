package manager

import (
	"context"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/berth-project/berth/internal/addon"
	"github.com/berth-project/berth/internal/membership/health"
	"github.com/berth-project/berth/internal/membership/registration/ocm"
)

// AddOnControllers returns the controllers that install add-ons. "*" does not include them, because they need permissions of their own, and
// because another product may install the add-ons of a hub.
func AddOnControllers() []string { return []string{addon.Name} }

// InstallsAddOns reports whether the controller runs that installs add-ons.
func (o *Options) InstallsAddOns() bool { return o.runsController(addon.Name) }

// addAddOnInstall adds the controller that installs add-ons.
func addAddOnInstall(ctx context.Context, a *managerBuilder) error {
	blocked, err := a.blockedBy(ocm.AddOns())
	if err != nil {
		return err
	}
	return addon.Add(ctx, a.mgr, addon.Options{
		Clock: clock.RealClock{}, Blocked: blocked, ManifestLimit: a.options.Works.ManifestLimit, Registry: metrics.Registry,
		Leases: a.options.runsController(health.Name), Going: a.record.Going,
	})
}
