package manager

import (
	"context"
	"math/rand/v2"
	"slices"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/berth-project/berth/internal/addon"
	"github.com/berth-project/berth/internal/addon/health"
	"github.com/berth-project/berth/internal/bridge/inventory"
	"github.com/berth-project/berth/internal/bridge/kueue"
	"github.com/berth-project/berth/internal/bridge/probe"
	"github.com/berth-project/berth/internal/bridge/profile"
	"github.com/berth-project/berth/internal/bridge/score"
	"github.com/berth-project/berth/internal/delivery"
	"github.com/berth-project/berth/internal/membership/acceptance"
	"github.com/berth-project/berth/internal/membership/csr"
	"github.com/berth-project/berth/internal/membership/registration/ocm"
)

// RegistrationControllers returns the controllers that register clusters. "*" does not include them, because they need
// permissions of their own, and because another product may register the clusters of a hub.
func RegistrationControllers() []string { return []string{acceptance.Name, csr.Name, health.Name} }

// namedControllers returns the controllers that run only where they are named.
func namedControllers() []string {
	return append(RegistrationControllers(), delivery.Name, addon.Name, probe.Name, score.Name, profile.Name, inventory.Name, kueue.Name)
}

// ProbesClusters reports whether the controller runs that reads clusters without an agent.
func (o *Options) ProbesClusters() bool { return o.runsController(probe.Name) }

// MeasuresClusters reports whether the controller runs that writes scores from queries.
func (o *Options) MeasuresClusters() bool { return o.runsController(score.Name) }

// PublishesProfiles reports whether the controller runs that publishes the fleet as ClusterProfiles.
func (o *Options) PublishesProfiles() bool { return o.runsController(profile.Name) }

// FeedsQueues reports whether the controller runs that lets the queues of Kueue follow placements.
func (o *Options) FeedsQueues() bool { return o.runsController(kueue.Name) }

// ImportsClusters reports whether the controller runs that makes clusters of ClusterProfiles.
func (o *Options) ImportsClusters() bool { return o.runsController(inventory.Name) }

// RegistersClusters reports whether a controller that registers clusters runs.
func (o *Options) RegistersClusters() bool {
	return slices.ContainsFunc(RegistrationControllers(), o.runsController)
}

func addAcceptance(_ context.Context, a *managerBuilder) error {
	blocked, err := a.blockedBy(ocm.Registration())
	if err != nil {
		return err
	}
	options := a.options.Acceptance
	options.Clock, options.Blocked, options.WorkTimeout = clock.RealClock{}, blocked, a.options.Cleanup.Timeout
	return acceptance.Add(a.mgr, options)
}

func addCSR(ctx context.Context, a *managerBuilder) error {
	blocked, err := a.blockedBy(ocm.Registration())
	if err != nil {
		return err
	}
	options := a.options.CSR
	options.Clock, options.Blocked, options.Registry = clock.RealClock{}, blocked, metrics.Registry
	return csr.Add(ctx, a.mgr, options)
}

func addAddOn(_ context.Context, a *managerBuilder) error {
	blocked, err := a.blockedBy(ocm.Registration())
	if err != nil {
		return err
	}
	return health.Add(a.mgr, health.Options{Blocked: blocked})
}

func addProbe(_ context.Context, a *managerBuilder) error {
	options := a.options.Probe
	options.Clock, options.Random, options.Registry = clock.RealClock{}, rand.Float64, metrics.Registry
	return probe.Add(a.mgr, options)
}

func addScore(_ context.Context, a *managerBuilder) error {
	options := a.options.Score
	options.Clock, options.Registry = clock.RealClock{}, metrics.Registry
	return score.Add(a.mgr, options)
}

func addProfile(ctx context.Context, a *managerBuilder) error {
	options := a.options.Profile
	options.Clock, options.Registry = clock.RealClock{}, metrics.Registry
	return profile.Add(ctx, a.mgr, options)
}

func addInventory(_ context.Context, a *managerBuilder) error {
	options := a.options.Inventory
	options.Clock, options.Manager, options.Registry = clock.RealClock{}, a.options.Profile.Manager, metrics.Registry
	return inventory.Add(a.mgr, options)
}

func addKueue(_ context.Context, a *managerBuilder) error {
	options := a.options.Kueue
	options.Manager = a.options.Profile.Manager
	return kueue.Add(a.mgr, options)
}
