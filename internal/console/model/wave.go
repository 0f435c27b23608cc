package model

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/rollout"
)

// The ranks of clusters in a rollout: those first that need a look.
const (
	RankFailed = iota
	RankRunning
	RankWaiting
	RankDone
)

// RankOf returns the rank of a cluster now.
func RankOf(cluster *report.Cluster) int {
	switch cluster.Code {
	case rollout.Failing, rollout.TimedOut:
		return RankFailed
	case rollout.Starting, rollout.UnderWay, rollout.Soaking:
		return RankRunning
	case rollout.Done, rollout.Skipped:
		return RankDone
	default:
		return RankWaiting
	}
}

// rankAt returns the rank of a cluster at an instant, from when it was given the template and when its state began.
func rankAt(cluster *report.Cluster, at time.Time) int {
	now := RankOf(cluster)
	switch {
	case at.IsZero():
		return now
	case cluster.Started == nil && (cluster.Since == nil || !at.Before(cluster.Since.Time)):
		return now
	case cluster.Started == nil || at.Before(cluster.Started.Time):
		return RankWaiting
	case (now == RankDone || now == RankFailed) && cluster.Since != nil && at.Before(cluster.Since.Time):
		return RankRunning
	default:
		return now
	}
}

// Wave is the clusters of one group of a placement in a rollout.
type Wave struct {
	Placement, Group string
	All              int
	// Done, Running, Failed and Waiting count the clusters.
	Done, Running, Failed, Waiting int
	// Until is when the first cluster under way ends its soak time or reaches its deadline; zero if none does.
	Until time.Time
	// Next is what the waiting clusters wait for; empty if none waits.
	Next string
	// Approval is the group as an approval names it, if the wave waits for one.
	Approval string
}

// WavesOf returns the waves of a rollout in the order of the groups, as they are now, or as they were at an instant that is not zero.
func WavesOf(of *report.Report, at time.Time) []Wave {
	var out []Wave
	known := map[[2]string]int{}
	for i := range of.Clusters {
		cluster := &of.Clusters[i]
		key := [2]string{cluster.Placement, cluster.Group}
		if _, ok := known[key]; !ok {
			known[key] = len(out)
			out = append(out, Wave{Placement: cluster.Placement, Group: cluster.Group})
		}
		out[known[key]].add(cluster, at)
	}
	slices.SortStableFunc(out, func(a, b Wave) int {
		return cmp.Or(cmp.Compare(a.Placement, b.Placement), cmp.Compare(groupIndex(a.Group), groupIndex(b.Group)), cmp.Compare(a.Group, b.Group))
	})
	return out
}

// ApprovalName returns a group as an approval names it: by its name, or by its index where it has none.
func ApprovalName(group string) string {
	if _, name, ok := strings.Cut(group, " ("); ok {
		return strings.TrimSuffix(name, ")")
	}
	return group
}

// groupIndex returns the number with which the name of a group begins, such as 2 of "2 (rest)"; -1 without one.
func groupIndex(group string) int {
	out, digits := 0, 0
	for digits < len(group) && group[digits] >= '0' && group[digits] <= '9' {
		out = out*10 + int(group[digits]-'0')
		digits++
	}
	if digits == 0 {
		return -1
	}
	return out
}

func (w *Wave) add(cluster *report.Cluster, at time.Time) {
	w.All++
	switch rankAt(cluster, at) {
	case RankFailed:
		w.Failed++
	case RankRunning:
		w.Running++
		if at.IsZero() && cluster.Until != nil && (w.Until.IsZero() || cluster.Until.Time.Before(w.Until)) {
			w.Until = cluster.Until.Time
		}
	case RankDone:
		w.Done++
	default:
		w.Waiting++
		if at.IsZero() {
			w.Next = cmp.Or(w.Next, cluster.Next)
		}
		if at.IsZero() && cluster.Code == rollout.WaitsForApproval {
			w.Approval = ApprovalName(cluster.Group)
		}
	}
}

// Fault is what fails in a rollout, and where.
type Fault struct {
	Manifest, Message string
	Clusters          []string
	// Since is when it began at the first of them.
	Since *metav1.Time
}

// FaultsOf returns what fails in a rollout, those first that most clusters have.
func FaultsOf(of *report.Report) []Fault {
	var out []Fault
	known := map[[2]string]int{}
	for i := range of.Clusters {
		cluster := &of.Clusters[i]
		if cluster.Failure == nil && RankOf(cluster) != RankFailed {
			continue
		}
		key := [2]string{"", cluster.Message}
		if cluster.Failure != nil {
			key = [2]string{cluster.Failure.Manifest, cluster.Failure.Message}
		}
		if _, ok := known[key]; !ok {
			known[key] = len(out)
			out = append(out, Fault{Manifest: key[0], Message: key[1]})
		}
		fault := &out[known[key]]
		fault.Clusters = append(fault.Clusters, cluster.Cluster)
		if cluster.Since != nil && (fault.Since == nil || cluster.Since.Before(fault.Since)) {
			fault.Since = cluster.Since
		}
	}
	slices.SortStableFunc(out, func(a, b Fault) int { return cmp.Compare(len(b.Clusters), len(a.Clusters)) })
	return out
}
