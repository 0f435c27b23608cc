package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/hub"
)

// evaluated is the manager's counter of evaluated placements.
const evaluated = "berth_placement_evaluations_total"

// usageSnapshot is the usage of a hub with a manager since its start.
type usageSnapshot struct {
	at              time.Time
	server, manager hub.Usage
	requests        hub.Requests
	// evaluations is the number of evaluated placements, changedPlacements the number with a changed decision, managerReads the
	// number of reads by the manager.
	evaluations, changedPlacements, managerReads float64
}

func (m *measuredHub) usage(ctx context.Context) (usageSnapshot, error) {
	out := usageSnapshot{at: time.Now()}
	var serverErr, managerErr, requestErr error
	out.server, serverErr = m.hub.Server.Usage()
	out.manager, managerErr = m.manager.Usage()
	out.requests, requestErr = m.hub.Requests(ctx)
	metrics, metricsErr := m.manager.Metrics(ctx)
	out.evaluations, out.changedPlacements = metrics.Sum(evaluated), metrics.Sum(evaluated, `outcome="changed"`)
	out.managerReads = metrics.Sum("rest_client_requests_total", `method="GET"`)
	return out, errors.Join(serverErr, managerErr, requestErr, metricsErr)
}

// since returns the usage after an earlier snapshot. Peaks count from the start.
func (s usageSnapshot) since(earlier usageSnapshot) usage {
	return usage{
		wall: s.at.Sub(earlier.at), server: s.server.CPU - earlier.server.CPU, manager: s.manager.CPU - earlier.manager.CPU,
		peakServer: s.server.Peak, peakManager: s.manager.Peak, requests: s.requests.Since(earlier.requests),
		evaluations: s.evaluations - earlier.evaluations, changedPlacements: s.changedPlacements - earlier.changedPlacements,
		managerReads: s.managerReads - earlier.managerReads,
	}
}

// usage is the usage of one measurement.
type usage struct {
	wall, server, manager   time.Duration
	peakServer, peakManager int64
	requests                hub.Requests

	evaluations, changedPlacements, managerReads float64
}

// add adds the usage of another measurement.
func (u *usage) add(other usage) {
	u.wall, u.server, u.manager = u.wall+other.wall, u.server+other.server, u.manager+other.manager
	u.peakServer, u.peakManager = max(u.peakServer, other.peakServer), max(u.peakManager, other.peakManager)
	u.evaluations, u.changedPlacements, u.managerReads = u.evaluations+other.evaluations, u.changedPlacements+other.changedPlacements,
		u.managerReads+other.managerReads
	if u.requests == nil {
		u.requests = hub.Requests{}
	}
	for request, count := range other.requests {
		u.requests[request] += count
	}
}

// figures returns all figures of the usage, for a number of new placements.
func (u usage) figures(placements int) []bench.Figure {
	return append([]bench.Figure{
		{
			Name: "CPU of the manager, beside the API server's", Unit: bench.Ratio, Value: u.manager.Seconds() / u.server.Seconds(),
			Detail: fmt.Sprintf("%.2f s / %.2f s", u.manager.Seconds(), u.server.Seconds()),
		},
		{Name: "wall", Unit: bench.Seconds, Value: u.wall.Seconds()},
		{Name: "peak of the manager's memory", Unit: bench.MiB, Value: mib(u.peakManager)},
		{Name: "peak of the API server's memory", Unit: bench.MiB, Value: mib(u.peakServer)},
		{
			Name: "evaluations per placement", Unit: bench.Ratio, Value: u.evaluations / float64(placements),
			Detail: fmt.Sprintf("%.0f", u.evaluations),
		},
	}, u.requestFigures(placements)...)
}

// requestFigures returns the number of requests by kind. The kinds of reads include the reads of other clients, such as the
// benchmark.
func (u usage) requestFigures(placements int) []bench.Figure {
	var out []bench.Figure
	for _, kind := range []struct {
		name string
		of   func() ([]hub.Request, float64)
	}{{"writes", u.requests.Writes}, {"reads", u.requests.Reads}} {
		kinds, sum := kind.of()
		out = append(out, bench.Figure{
			Name: kind.name, Unit: bench.Requests, Value: sum,
			Detail: fmt.Sprintf("%.2f per placement", sum/float64(placements)),
		})
		for _, one := range kinds {
			out = append(out, bench.Figure{Name: kind.name + ", " + one.String(), Unit: bench.Requests, Value: u.requests[one]})
		}
	}
	return append(out, bench.Figure{Name: "reads by the manager", Unit: bench.Requests, Value: u.managerReads})
}

// decisionWrites counts the writes that store decisions: to slices, and to the status of placements.
func decisionWrites(answered hub.Requests) float64 {
	return count(answered, func(r hub.Request) bool {
		return r.Resource == "placementdecisions" || r.Resource == "placements" && r.Subresource == "status"
	})
}

func eventWrites(answered hub.Requests) float64 {
	return count(answered, func(r hub.Request) bool { return r.Resource == "events" })
}

func count(answered hub.Requests, counts func(hub.Request) bool) float64 {
	out := 0.0
	kinds, _ := answered.Writes()
	for _, kind := range kinds {
		if counts(kind) {
			out += answered[kind]
		}
	}
	return out
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
