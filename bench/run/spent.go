package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/hub"
)

// spent is what a managed side has used until some moment.
type spent struct {
	at              time.Time
	server, manager hub.Usage
	requests        hub.Requests
}

func (s *side) spent(ctx context.Context) (spent, error) {
	out := spent{at: time.Now()}
	var serverErr, managerErr, requestErr error
	out.server, serverErr = s.hub.Server.Usage()
	out.manager, managerErr = s.manager.Usage()
	out.requests, requestErr = s.hub.Requests(ctx)
	return out, errors.Join(serverErr, managerErr, requestErr)
}

// since returns what was used after an earlier moment. Peaks are those since the start.
func (s spent) since(earlier spent) use {
	return use{
		wall: s.at.Sub(earlier.at), server: s.server.CPU - earlier.server.CPU, manager: s.manager.CPU - earlier.manager.CPU,
		peakServer: s.server.Peak, peakManager: s.manager.Peak, requests: s.requests.Since(earlier.requests),
	}
}

// use is what was used for something.
type use struct {
	wall, server, manager   time.Duration
	peakServer, peakManager int64
	requests                hub.Requests
}

// add adds what was used for something else.
func (u *use) add(other use) {
	u.wall, u.server, u.manager = u.wall+other.wall, u.server+other.server, u.manager+other.manager
	u.peakServer, u.peakManager = max(u.peakServer, other.peakServer), max(u.peakManager, other.peakManager)
	if u.requests == nil {
		u.requests = hub.Requests{}
	}
	for request, count := range other.requests {
		u.requests[request] += count
	}
}

// figures tells all of it. What for is part of the names, and so many placements were decided.
func (u use) figures(what string, placements int) []bench.Figure {
	out := []bench.Figure{
		{
			Name: "CPU of the manager, beside the API server's", Unit: bench.Ratio, Value: u.manager.Seconds() / u.server.Seconds(),
			From: fmt.Sprintf("%.2f s / %.2f s", u.manager.Seconds(), u.server.Seconds()),
		},
		{Name: "wall " + what, Unit: bench.Seconds, Value: u.wall.Seconds()},
		{Name: "peak of the manager's memory", Unit: bench.MiB, Value: mib(u.peakManager)},
		{Name: "peak of the API server's memory", Unit: bench.MiB, Value: mib(u.peakServer)},
	}
	kinds, sum := u.requests.Writes()
	out = append(out, bench.Figure{
		Name: "writes " + what, Unit: bench.Requests, Value: sum, From: fmt.Sprintf("%.2f per placement", sum/float64(placements)),
	})
	for _, kind := range kinds {
		out = append(out, bench.Figure{Name: "  " + kind.String(), Unit: bench.Requests, Value: u.requests[kind]})
	}
	return out
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
