package console

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/berth-project/berth/internal/console/model"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/internal/kube/hold"
	"github.com/berth-project/berth/internal/source/file"
	"github.com/berth-project/berth/internal/status"
	"github.com/berth-project/berth/internal/status/rule"
)

// hubFacts is the data of the facts about what is read.
type hubFacts struct {
	Place, Note                         string
	Clusters, Placements, Sets, WorkSet int
	Health                              []model.HealthCount
	State                               *model.State
}

// hubHealth is the data of how the hub and its managers are.
type hubHealth struct {
	*status.Hub

	// Verdict is that of the worst problem.
	Verdict  string
	Problems []status.Problem
	// Held reports whether a leader holds the lease.
	Held bool
	// Hidden is why nothing of it is visible; empty if something is.
	Hidden string
	// Certificates are those of the manager and of the hub, those first that end first.
	Certificates []status.Certificate
	// Raised are the alerts whose condition holds, Quiet counts the others, and Elsewhere are those that only Prometheus evaluates.
	Raised    []rule.Alert
	Quiet     int
	Elsewhere []rule.Alert
	// Queues are those that wait or retry, Idle counts the others.
	Queues []status.Queue
	Idle   int
}

// hubPage shows whether the hub is well, and what is read.
func hubPage(ctx context.Context, v *view) (*page, error) {
	bundle := v.state.Bundle
	out := &page{Title: "Hub", Nav: "hub", Command: v.session.kubectl("version", "--with-hub"), live: true}
	held := heldBack(bundle)
	if v.session.Hub != nil {
		held = sortHolds(append(held, v.session.Hub.Graces(ctx)...))
		health, err := newHubHealth(ctx, v)
		if err != nil {
			return nil, err
		}
		out.Sections = []section{{ID: "hub-health", data: health}}
		if health.Hidden == "" {
			out.Sections = append(out.Sections, section{ID: "hub-manager", data: health}, section{ID: "hub-alerts", data: health})
		}
	} else {
		out.Command = v.session.kubectl("get", "clusters")
	}
	out.Sections = append(out.Sections, section{ID: "hub-holds", data: held}, section{ID: "hub-facts", data: hubFacts{
		Place: v.session.Place, Note: v.state.Note, Clusters: len(bundle.Clusters), Placements: len(bundle.Placements), Sets: len(bundle.Sets),
		WorkSet: len(bundle.WorkSets), Health: v.state.HealthCounts(), State: v.state,
	}})
	return out, nil
}

// heldBack returns what is held back by the status of sets of works, placements and cluster sets, in the order of namespaces and names.
func heldBack(bundle *file.Bundle) []hold.Hold {
	var out []hold.Hold
	for _, set := range bundle.WorkSets {
		out = append(out, report.Holds(set)...)
	}
	for _, placement := range bundle.Placements {
		out = append(out, hold.OfPlacement(placement)...)
	}
	for _, set := range bundle.Sets {
		out = append(out, hold.OfClusterSet(set)...)
	}
	return sortHolds(out)
}

func sortHolds(holds []hold.Hold) []hold.Hold {
	slices.SortStableFunc(holds, func(a, b hold.Hold) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return holds
}

func newHubHealth(ctx context.Context, v *view) (hubHealth, error) {
	found, err := v.session.Hub.Hub(ctx)
	if errors.Is(err, status.ErrNotPermitted) {
		return hubHealth{
			Hub: &status.Hub{}, Verdict: status.Unknown,
			Hidden: "You may not see how the hub is: this needs get on the path /metrics, as the ClusterRole system:monitoring gives it.",
		}, nil
	}
	if err != nil {
		return hubHealth{}, err //nolint:wrapcheck // it is about the hub
	}
	now := v.now
	out := hubHealth{Hub: found, Verdict: found.Verdict(now), Problems: found.Problems(now), Certificates: slices.Clone(found.Certificates)}
	out.Held = found.Lease != nil && found.Lease.Held(now)
	if found.Manager != nil {
		out.readManager(found.Manager)
	}
	slices.SortStableFunc(out.Certificates, func(a, b status.Certificate) int { return a.End.Compare(b.End) })
	return out, nil
}

// readManager sorts what the manager reports into what needs a look and what does not.
func (h *hubHealth) readManager(of *status.Report) {
	h.Certificates = append(h.Certificates, of.Certificates...)
	for _, alert := range of.Alerts {
		switch alert.State {
		case rule.Firing, rule.Pending:
			h.Raised = append(h.Raised, alert)
		case rule.Elsewhere:
			h.Elsewhere = append(h.Elsewhere, alert)
		case rule.Quiet:
			h.Quiet++
		}
	}
	for _, queue := range of.Queues {
		if queue.Waiting > 0 || queue.Retries > 0 || queue.Oldest >= 1 {
			h.Queues = append(h.Queues, queue)
		} else {
			h.Idle++
		}
	}
}

// span returns a number of seconds in words, rounded to what a reader needs.
func span(seconds float64) string {
	unit := time.Second
	switch {
	case seconds < 0.1:
		unit = 100 * time.Microsecond
	case seconds < 10:
		unit = 10 * time.Millisecond
	}
	return time.Duration(seconds * float64(time.Second)).Round(unit).String()
}
