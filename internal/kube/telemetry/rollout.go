package telemetry

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berth-project/berth/rollout"
)

// The reasons and the action of the events that every rollout has.
const (
	ReasonRolloutStarted  = "RolloutStarted"
	ReasonRolloutFinished = "RolloutFinished"
	ReasonRolloutBreached = "RolloutBreached"

	ActionRolledOut = "RolledOut"
)

// The results of a write of a rollout.
const (
	WriteStored   = "stored"
	WriteConflict = "conflict"
	WriteRefused  = "refused"
	WriteFailed   = "failed"
)

// WriteResults returns every result of a write of a rollout.
func WriteResults() []string { return []string{WriteStored, WriteConflict, WriteRefused, WriteFailed} }

// WriteResult returns the value of the label result for the outcome of a write. Refused means that the API server refuses the object.
func WriteResult(err error, refused bool) string {
	switch {
	case err == nil:
		return WriteStored
	case apierrors.IsConflict(err):
		return WriteConflict
	case refused:
		return WriteRefused
	default:
		return WriteFailed
	}
}

// RolloutState counts rollouts by phase, and their clusters by state. The zero value counts none.
type RolloutState struct {
	Rollouts map[rollout.Phase]int
	Clusters map[rollout.State]int
}

// AddRollout counts a rollout.
func (s *RolloutState) AddRollout(phase rollout.Phase) { s.addRollouts(phase, 1) }

// AddCluster counts a cluster of a rollout.
func (s *RolloutState) AddCluster(state rollout.State) { s.addClusters(state, 1) }

// Add adds what was counted elsewhere.
func (s *RolloutState) Add(other RolloutState) {
	for phase, count := range other.Rollouts {
		s.addRollouts(phase, count)
	}
	for state, count := range other.Clusters {
		s.addClusters(state, count)
	}
}

func (s *RolloutState) addRollouts(phase rollout.Phase, count int) {
	if s.Rollouts == nil {
		s.Rollouts = map[rollout.Phase]int{}
	}
	s.Rollouts[phase] += count
}

func (s *RolloutState) addClusters(state rollout.State, count int) {
	if s.Clusters == nil {
		s.Clusters = map[rollout.State]int{}
	}
	s.Clusters[state] += count
}

// Description is the name and the help of a metric.
type Description struct{ Name, Help string }

// ScrapeRollouts adds the counts of rollouts by phase and of their clusters by state, which read returns when the metrics are scraped.
func ScrapeRollouts(set *Set, rollouts, clusters Description, read func() RolloutState) {
	set.Scraped(rollouts.Name, rollouts.Help, func(emit Emit) {
		state := read()
		for _, phase := range rollout.Phases() {
			emit(float64(state.Rollouts[phase]), string(phase))
		}
	}, Label{Name: "phase", Values: Texts(rollout.Phases())})
	set.Scraped(clusters.Name, clusters.Help, func(emit Emit) {
		state := read()
		for _, at := range rollout.States() {
			emit(float64(state.Clusters[at]), string(at))
		}
	}, Label{Name: "state", Values: Texts(rollout.States())})
}
