package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/berth-project/berth/internal/install/preflight"
)

var errMissingRequirement = errors.New("the hub lacks a requirement of the manager")

// preflightHub compares the hub with the requirements of the manager. It returns an error that names what no placement can
// be decided without, and switches off the controllers that cannot run.
func (o *Options) preflightHub(ctx context.Context, hub *rest.Config) (*preflight.Monitor, error) {
	initial := *o // includes the controllers that are switched off below, so that the monitor checks them again
	monitor, err := preflight.New(hub, preflight.Options{
		Runs: initial.runsPart, Namespace: o.LeaderElectionNamespace,
		Clock: clock.RealClock{},
	})
	if err != nil {
		return nil, err
	}
	found, err := monitor.Check(ctx)
	if err != nil {
		return nil, err
	}
	if required := found.RequiredMissing(); required != "" {
		return nil, fmt.Errorf("the hub lacks %s: apply the definitions in config/crd and the roles in config/rbac: %w", required,
			errMissingRequirement)
	}
	var off []string
	for _, name := range found.DisabledControllers() {
		off = append(off, "-"+name)
	}
	o.Controllers = slices.Concat(off, o.Controllers)
	return monitor, nil
}

// runsPart returns whether a part of the manager runs and needs its permissions.
func (o *Options) runsPart(part string) bool {
	switch part {
	case preflight.PartManager, preflight.PartGuards:
		return true
	case preflight.PartLease:
		return o.LeaderElection
	case preflight.PartWebhooks:
		return o.Webhooks.enabled()
	case preflight.PartMetrics:
		return o.MetricsSecure && o.MetricsAddress != addressOff
	case preflight.PartServing:
		return (o.Webhooks.enabled() || o.servesViews()) && o.Certificate.CertFile == ""
	case "views":
		return o.servesViews()
	default:
		return o.runsController(part)
	}
}

// addPreflight adds the monitor that repeats the comparison while the manager runs.
func (m *managerBuilder) addPreflight() error {
	registerPreflightMetric(metrics.Registry, m.preflight.Report)
	if err := m.mgr.Add(m.preflight); err != nil {
		return fmt.Errorf("adding the preflight monitor: %w", err)
	}
	return nil
}
