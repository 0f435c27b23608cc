package status

import (
	"slices"
	"strings"
	"time"

	"github.com/berth-project/berth/internal/status/rule"
)

// certificateWarning is how long before its end a certificate is a problem. The shipped alert has the same time.
const certificateWarning = 14 * 24 * time.Hour

// Hub is how a hub and its managers are, as one reader sees it. A part that the reader may not see has a problem instead.
type Hub struct {
	// Lease is that of the leader election.
	Lease        *Lease
	LeaseProblem string
	// Manager is the report of the leader, or of the replica that answers where no leader is known.
	Manager        *Report
	ManagerProblem string
	// Replicas are the pods of the manager.
	Replicas        []Replica
	ReplicasProblem string
	// Certificates are those of the hub's API server and of the reader.
	Certificates        []Certificate
	CertificatesProblem string
}

// Lease is the lease of the leader election.
type Lease struct {
	Holder string
	// Version is that of the last leader; empty if it is not recorded.
	Version string
	// Acquired is when the holder got the lease, Renewed its last renewal. Duration is how long a renewal lasts.
	Acquired, Renewed time.Time
	Duration          time.Duration
	// Transitions is how often the leader has changed.
	Transitions int
}

// Held reports whether a leader holds the lease. The clock of the holder may differ from that of the reader by some seconds.
func (l *Lease) Held(now time.Time) bool {
	const tolerance = 10 * time.Second
	return l.Holder != "" && now.Sub(l.Renewed) <= l.Duration+tolerance
}

// Replica is a pod of the manager.
type Replica struct {
	Name, Node string
	Phase      string
	Ready      bool
	Restarts   int
	Started    time.Time
}

// Leads reports whether a replica holds a lease.
func (r Replica) Leads(lease *Lease) bool {
	return lease != nil && strings.HasPrefix(lease.Holder, r.Name+"_")
}

// The verdicts on a hub.
const (
	// Well means that no problem is visible.
	Well = "well"
	// Attention means that a problem should be looked at.
	Attention = "attention"
	// Failing means that the hub does not do its work.
	Failing = "failing"
	// Unknown means that the reader sees neither the lease nor the manager.
	Unknown = "unknown"
)

// Problem is what is not well, and what to do about it.
type Problem struct{ Verdict, Text, Action string }

// Problems returns what is not well, the worst first.
func (h *Hub) Problems(now time.Time) []Problem {
	var out []Problem
	add := func(verdict, text, action string) { out = append(out, Problem{verdict, text, action}) }
	if h.Lease != nil && !h.Lease.Held(now) {
		add(Failing, "No manager leads. Decisions stay as they are and are not corrected.",
			"Start a manager, or look at its pods: kubectl get pods,lease -n berth-system")
	}
	if h.Manager != nil {
		for _, alert := range h.Manager.Alerts {
			switch {
			case alert.State != rule.Firing:
			case alert.Severity == "critical":
				add(Failing, alert.Summary, alert.Action)
			default:
				add(Attention, alert.Summary, alert.Action)
			}
		}
	}
	for _, replica := range h.Replicas {
		if !replica.Ready {
			add(Attention, "The replica "+replica.Name+" is not ready.", "Read why: kubectl describe pod "+replica.Name+" -n berth-system")
		}
	}
	for _, certificate := range h.Certificates {
		switch left := certificate.End.Sub(now); {
		case left <= 0:
			add(Failing, "The certificate of "+certificate.Name+" has ended.", certificate.Action)
		case left < certificateWarning:
			add(Attention, "The certificate of "+certificate.Name+" ends soon.", certificate.Action)
		}
	}
	slices.SortStableFunc(out, func(a, b Problem) int { return verdictRank(a.Verdict) - verdictRank(b.Verdict) })
	return out
}

func verdictRank(verdict string) int {
	return slices.Index([]string{Failing, Attention, Unknown, Well}, verdict)
}

// Verdict returns how the hub is: that of the worst problem.
func (h *Hub) Verdict(now time.Time) string {
	if found := h.Problems(now); len(found) > 0 {
		return found[0].Verdict
	}
	if h.Lease == nil && h.Manager == nil {
		return Unknown
	}
	return Well
}
