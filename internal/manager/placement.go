package manager

import (
	"context"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	placementwebhook "github.com/berth-project/berth/internal/admission/placement"
	"github.com/berth-project/berth/internal/membership/set"
	"github.com/berth-project/berth/internal/placement"
)

func addPlacement(_ context.Context, a *managerBuilder) error {
	options := a.options.Placement
	options.Clock, options.Metrics, options.Record, options.Env = clock.RealClock{}, placement.NewMetrics(metrics.Registry), a.record, a.env
	options.BuiltIn, options.Tainted = a.options.runsController(set.Name), a.tainted
	options.Hub, options.Definitions = a.preflight, a.definitions
	return placement.Add(a.mgr, options)
}

// edits returns what the webhook of placements warns of.
func (m *managerBuilder) edits() placementwebhook.Edits {
	emptying := m.options.Placement.EmptyingEdits
	if emptying == placement.FollowEmptyingEdits {
		return placementwebhook.Edits{}
	}
	return placementwebhook.Edits{
		Unknown: m.record.Unknown, Lost: m.record.Lost, HeldByReference: m.record.HeldByReference,
		Held: emptying == placement.HoldEmptyingEdits,
	}
}
