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
	// Lost are the values that the add-on reported before, and no longer reports, sorted by name.
	Lost []LostValue
	// Gone is set if the object does not exist, and only Lost is known.
	Gone bool
}

// LostValue is a value that an add-on no longer reports.
type LostValue struct {
	Name  string
	Value int32
	// Since is when it was lost.
	Since time.Time
}

// maxLostValues is how many lost values of one score are kept; the oldest are dropped.
const maxLostValues = 64

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

// LastValue returns the last value of a score that the add-on no longer reports, or that is out of date, and since when. Ok is false
// without such a value.
func (s *Score) LastValue(name string, now time.Time) (value int32, since time.Time, ok bool) {
	if value, given := s.Value(name); given {
		return value, s.ValidUntil, s.Expired(now)
	}
	for _, lost := range s.Lost {
		if lost.Name == name {
			return lost.Value, lost.Since, true
		}
	}
	return 0, time.Time{}, false
}

// RememberLost records in a new state of a score what the state before had and this one lacks, without what was lost before an instant.
func (s *Score) RememberLost(before *Score, now, after time.Time) {
	if len(before.Lost) == 0 && s.hasAll(before.Items) {
		return
	}
	for _, item := range before.Items {
		since := now
		if before.Expired(now) {
			since = before.ValidUntil
		}
		s.Lost = append(s.Lost, LostValue{item.Name, item.Value, since})
	}
	s.Lost = append(s.Lost, before.Lost...)
	s.Lost = slices.DeleteFunc(s.Lost, func(lost LostValue) bool {
		_, given := s.Value(lost.Name)
		return given || lost.Since.Before(after)
	})
	slices.SortFunc(s.Lost, func(a, b LostValue) int { return b.Since.Compare(a.Since) })
	s.Lost = s.Lost[:min(len(s.Lost), maxLostValues)]
	slices.SortFunc(s.Lost, func(a, b LostValue) int { return strings.Compare(a.Name, b.Name) })
}

// names returns the names of the values that the add-on reports, and of the lost ones.
func (s *Score) names() []string {
	out := make([]string, 0, len(s.Items)+len(s.Lost))
	for _, item := range s.Items {
		out = append(out, item.Name)
	}
	for _, lost := range s.Lost {
		out = append(out, lost.Name)
	}
	return out
}

// hasAll reports whether the score has a value of each name. It runs on every report.
func (s *Score) hasAll(items []clusterv1alpha1.AddOnPlacementScoreItem) bool {
	for _, item := range items {
		if _, given := s.Value(item.Name); !given {
			return false
		}
	}
	return true
}

func (s *Score) equal(other *Score) bool {
	return s != nil && other != nil && s.ValidUntil.Equal(other.ValidUntil) && slices.Equal(s.Items, other.Items) &&
		slices.Equal(s.Lost, other.Lost) && s.Gone == other.Gone
}

func scoreIndex(scores []*Score, resource string) (at int, found bool) {
	return slices.BinarySearchFunc(scores, resource, func(s *Score, name string) int {
		return strings.Compare(s.Resource, name)
	})
}
