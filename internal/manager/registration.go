package manager

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/berth-project/berth/internal/addon"
	"github.com/berth-project/berth/internal/addon/health"
	"github.com/berth-project/berth/internal/bridge/inventory"
	"github.com/berth-project/berth/internal/bridge/kueue"
	"github.com/berth-project/berth/internal/bridge/probe"
	"github.com/berth-project/berth/internal/bridge/probe/target"
	"github.com/berth-project/berth/internal/bridge/profile"
	"github.com/berth-project/berth/internal/bridge/score"
	"github.com/berth-project/berth/internal/delivery"
	"github.com/berth-project/berth/internal/membership/acceptance"
	"github.com/berth-project/berth/internal/membership/csr"
	"github.com/berth-project/berth/internal/membership/registration/autoaccept"
	"github.com/berth-project/berth/internal/membership/registration/ocm"
)

// maxInventoryNamespaces bounds --inventory-namespaces.
const maxInventoryNamespaces = 64

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

// addOCM adds the monitor that stops the controllers of registration while those of Open Cluster Management run.
func (m *managerBuilder) addOCM() error {
	if !m.options.RegistersClusters() {
		return nil
	}
	m.ocm = &ocm.Monitor{Hub: m.mgr.GetAPIReader(), Clock: clock.RealClock{}, Rival: ocm.Registration()}
	if err := m.mgr.Add(m.ocm); err != nil {
		return fmt.Errorf("adding the check for Open Cluster Management: %w", err)
	}
	return nil
}

func addAcceptance(_ context.Context, a *managerBuilder) error {
	return acceptance.Add(a.mgr, acceptance.Options{
		Clock: clock.RealClock{}, Blocked: a.ocm.Blocked, BindAgentUser: a.options.BindAgentUser,
		WorkTimeout: a.options.WorkCleanupTimeout,
	})
}

func addAddOn(_ context.Context, a *managerBuilder) error {
	return health.Add(a.mgr, health.Options{Blocked: a.ocm.Blocked})
}

func addProbe(_ context.Context, a *managerBuilder) error {
	allowed, err := target.ParseAllowed(a.options.ProbeAllow)
	if err != nil {
		return fmt.Errorf("reading --probe-allow: %w", err)
	}
	return probe.Add(a.mgr, probe.Options{Clock: clock.RealClock{}, Allowed: allowed, Random: rand.Float64, Registry: metrics.Registry})
}

func addScore(_ context.Context, a *managerBuilder) error {
	config, err := score.Load(a.options.ScoreConfig)
	if err != nil {
		return fmt.Errorf("reading --score-config: %w", err)
	}
	return score.Add(a.mgr, score.Options{Config: config, Clock: clock.RealClock{}, Registry: metrics.Registry})
}

func addProfile(ctx context.Context, a *managerBuilder) error {
	return profile.Add(ctx, a.mgr, profile.Options{
		Clock: clock.RealClock{}, Manager: a.options.ProfileManager, AccessProvider: a.options.ProfileAccessProvider, Registry: metrics.Registry,
	})
}

func addInventory(_ context.Context, a *managerBuilder) error {
	return inventory.Add(a.mgr, inventory.Options{
		Clock: clock.RealClock{}, Namespaces: a.options.InventoryNamespaces, Manager: a.options.ProfileManager, Grace: a.options.InventoryGrace, Registry: metrics.Registry,
	})
}

func addKueue(_ context.Context, a *managerBuilder) error {
	return kueue.Add(a.mgr, kueue.Options{
		Namespace: a.options.KueueNamespace, Source: kueue.Source(a.options.KueueSource), Manager: a.options.ProfileManager,
	})
}

// kueueFaults returns the faults of the options of the controller kueue.
func (o *Options) kueueFaults() []string {
	if source := kueue.Source(o.KueueSource); source != kueue.SourceSecret && source != kueue.SourceProfile {
		return []string{fmt.Sprintf("--kueue-source %q: must be %s or %s", source, kueue.SourceSecret, kueue.SourceProfile)}
	}
	return nil
}

// inventoryFaults returns the faults of the options of the controller inventory.
func (o *Options) inventoryFaults() []string {
	var out []string
	if o.ImportsClusters() != (len(o.InventoryNamespaces) > 0) {
		out = append(out, "--controllers "+inventory.Name+" and --inventory-namespaces: give both or none")
	}
	if len(o.InventoryNamespaces) > maxInventoryNamespaces {
		out = append(out, fmt.Sprintf("--inventory-namespaces: %d namespaces, at most %d are allowed", len(o.InventoryNamespaces), maxInventoryNamespaces))
	}
	for _, namespace := range o.InventoryNamespaces {
		if faults := validation.IsDNS1123Label(namespace); len(faults) > 0 {
			out = append(out, fmt.Sprintf("--inventory-namespaces %q: %s", namespace, faults[0]))
		}
	}
	if o.InventoryGrace < 0 {
		out = append(out, fmt.Sprintf("--inventory-grace %s: must be 0 or more", o.InventoryGrace))
	}
	return out
}

// profileFaults returns the faults of the options of the controller profile.
func (o *Options) profileFaults() []string {
	var out []string
	if faults := validation.IsValidLabelValue(o.ProfileManager); len(faults) > 0 || o.ProfileManager == "" {
		out = append(out, fmt.Sprintf("--profile-manager %q: must be a label value that is not empty", o.ProfileManager))
	}
	if faults := validation.IsDNS1123Subdomain(o.ProfileAccessProvider); len(faults) > 0 && o.ProfileAccessProvider != "" {
		out = append(out, fmt.Sprintf("--profile-access-provider %q: %s", o.ProfileAccessProvider, faults[0]))
	}
	return out
}

// autoAcceptRules reads the rules of --auto-accept.
func (o *Options) autoAcceptRules() ([]autoaccept.Rule, error) {
	var out []autoaccept.Rule
	for _, text := range o.AutoAccept {
		rule, err := autoaccept.Parse(text)
		if err != nil {
			return nil, err //nolint:wrapcheck // it quotes the rule
		}
		out = append(out, rule)
	}
	return out, nil
}

func addCSR(ctx context.Context, a *managerBuilder) error {
	rules, err := a.options.autoAcceptRules()
	if err != nil {
		return err
	}
	return csr.Add(ctx, a.mgr, csr.Options{
		Clock: clock.RealClock{}, MaxDuration: a.options.MaxCertificateDuration, AutoAccept: rules, Blocked: a.ocm.Blocked, Registry: metrics.Registry,
	})
}
