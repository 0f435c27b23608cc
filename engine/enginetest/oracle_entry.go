package enginetest

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// entries has the decision of each cluster.
type entries struct {
	of map[string]clusterv1beta1.ClusterDecision
	// scored is set if decisions have scores, which are written at most once per rate.
	scored bool
	rate   time.Duration
}

// entries returns the entries of a new decision, with the tiers and totals of the next run.
func (r *run) entries(last *view) entries {
	out := entries{of: map[string]clusterv1beta1.ClusterDecision{}, scored: r.spec.SortBy == "Score", rate: rate(r.spec.ScoreRateLimit)}
	for name := range last.selected {
		entry := clusterv1beta1.ClusterDecision{ClusterName: name, Reason: last.tierName(name)}
		if out.scored && last.in[name] {
			entry.Score = int64(last.total[name])
		}
		out.of[name] = entry
	}
	return out
}

// keptEntries returns the stored entries.
func (r *run) keptEntries() entries {
	out := entries{of: map[string]clusterv1beta1.ClusterDecision{}}
	for _, slice := range r.inOrderOfGroups() {
		for _, entry := range slice.entries {
			if _, seen := out.of[entry.ClusterName]; !seen {
				out.of[entry.ClusterName] = entry
			}
		}
	}
	return out
}

// list returns the decisions of one slice.
func (e entries) list(clusters []string) []clusterv1beta1.ClusterDecision {
	out := []clusterv1beta1.ClusterDecision{}
	for _, name := range clusters {
		out = append(out, e.of[name])
	}
	slices.SortFunc(out, func(a, b clusterv1beta1.ClusterDecision) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ClusterName, b.ClusterName))
	})
	return out
}

// rate is how often a change of scores alone is written.
func rate(limit string) time.Duration {
	if limit == "" {
		return time.Minute
	}
	number, err := strconv.Atoi(limit[:len(limit)-1])
	if err != nil {
		panic(err)
	}
	return time.Duration(number) * map[byte]time.Duration{'h': time.Hour, 'm': time.Minute, 's': time.Second}[limit[len(limit)-1]]
}

// storeScores keeps the stored decisions if only scores have changed and it is too early to write them. Otherwise it sets the
// time of the scores, if any are written.
func (r *run) storeScores(out *Outcome, shown entries) {
	if !shown.scored {
		return
	}
	stored := map[string][]clusterv1beta1.ClusterDecision{}
	for _, slice := range r.w.SlicesOf(r.key) {
		stored[slice.Name] = slice.Status.Decisions
	}
	members, scores := len(stored) != len(out.Slices), false
	for _, slice := range out.Slices {
		have, exists := stored[slice.Name]
		members = members || !exists || !slices.Equal(unscored(have), unscored(slice.Status.Decisions))
		scores = scores || !exists || !slices.Equal(have, slice.Status.Decisions)
	}
	next := time.Time{}
	if last := r.w.Placements[r.key].Status.LastScoreUpdateTime; last != nil {
		next = last.Add(shown.rate)
	}
	switch {
	case !scores:
	case members || !r.w.Now.Before(next):
		at := metav1.NewTime(ceil(r.w.Now))
		out.Status.LastScoreUpdateTime = &at
	default:
		for _, slice := range out.Slices {
			slice.Status.Decisions = stored[slice.Name]
		}
		out.ScoresDue = next
	}
}

// unscored returns entries by name, without their scores.
func unscored(in []clusterv1beta1.ClusterDecision) []clusterv1beta1.ClusterDecision {
	out := slices.Clone(in)
	for i := range out {
		out[i].Score = 0
	}
	slices.SortFunc(out, func(a, b clusterv1beta1.ClusterDecision) int { return cmp.Compare(a.ClusterName, b.ClusterName) })
	return out
}
