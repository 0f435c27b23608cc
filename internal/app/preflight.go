package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/berth-project/berth/internal/preflight"
	"github.com/berth-project/berth/internal/telemetry"
)

var errMissingRequirement = errors.New("the hub lacks what placements are decided from")

// preflightHub compares the hub with what the manager needs. It returns an error that names everything without which no placement can
// be decided, and switches off the controllers that cannot run.
func (o *Options) preflightHub(ctx context.Context, hub *rest.Config) (*preflight.Monitor, error) {
	asked := *o // what runs now: controllers that are switched off are asked about again
	monitor, err := preflight.New(hub, preflight.Options{Runs: asked.runsPart, Namespace: o.LeaderElectionNamespace, Clock: clock.RealClock{}})
	if err != nil {
		return nil, err
	}
	found, err := monitor.Check(ctx)
	if err != nil {
		return nil, err
	}
	if required := found.RequiredMissing(); required != "" {
		return nil, fmt.Errorf("the hub lacks %s: apply the definitions in config/crd and the roles in config/rbac: %w", required, errMissingRequirement)
	}
	var off []string
	for _, name := range found.DisabledControllers() {
		off = append(off, "-"+name)
	}
	o.Controllers = slices.Concat(off, o.Controllers)
	return monitor, nil
}

// runsPart says whether a part of the manager runs, so that it needs its permissions.
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

// addPreflight goes on comparing the hub while the manager runs.
func (a *managerBuilder) addPreflight() error {
	telemetry.NewPreflight(metrics.Registry, a.preflight.Report)
	if err := a.mgr.Add(a.preflight); err != nil {
		return fmt.Errorf("adding the comparison of the hub with what is needed: %w", err)
	}
	return nil
}
