package fleet

import (
	"slices"
	"strings"
	"time"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
)

// Score is one AddOnPlacementScore: the values that an add-on reports for one cluster.
type Score struct {
	// Resource is the object's name. Its namespace is the cluster.
	Resource string
	// Items is status.scores, read-only, in the object's order.
	Items []clusterv1alpha1.AddOnPlacementScoreItem
	// ValidUntil is when the values expire; zero means never.
	ValidUntil time.Time
}

// NewScore reads an AddOnPlacementScore. The caller must not change the object afterwards.
func NewScore(object *clusterv1alpha1.AddOnPlacementScore) *Score {
	score := &Score{Resource: object.Name, Items: object.Status.Scores}
	if object.Status.ValidUntil != nil {
		score.ValidUntil = object.Status.ValidUntil.Time
	}
	return score
}

// Value returns the value of the named score. Ok is false if the resource lacks it.
func (s *Score) Value(name string) (value int32, ok bool) {
	for _, item := range s.Items {
		if item.Name == name {
			return item.Value, true
		}
	}
	return 0, false
}

// Expired reports whether the values are out of date at now.
func (s *Score) Expired(now time.Time) bool {
	return !s.ValidUntil.IsZero() && s.ValidUntil.Before(now)
}

func (s *Score) equal(other *Score) bool {
	return s != nil && other != nil && s.ValidUntil.Equal(other.ValidUntil) && slices.Equal(s.Items, other.Items)
}

func scoreIndex(scores []*Score, resource string) (at int, found bool) {
	return slices.BinarySearchFunc(scores, resource, func(s *Score, name string) int {
		return strings.Compare(s.Resource, name)
	})
}
