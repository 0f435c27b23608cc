package change

import (
	"io"
	"slices"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/source/file"
)

// Away is what is lost while objects are deleted and not made anew yet.
type Away struct {
	Placements int `json:"placements"`
	Clusters   int `json:"clusters"`
	// Ungraced is set if a ManagedCluster is among the objects: its deletion takes effect at once.
	Ungraced bool `json:"ungraced,omitempty"`
}

// Print writes what is lost.
func (a *Away) Print(w io.Writer) {
	lose := "lose"
	if a.Placements == 1 {
		lose = "loses"
	}
	printer.Printf(w, "\nBetween deletion and creation %s %s %s", phrase.Count(a.Placements, "placement"), lose,
		phrase.Count(a.Clusters, "cluster"))
	if a.Ungraced {
		printer.Printf(w, ": the deletion of a ManagedCluster has no grace.\n")
		return
	}
	printer.Printf(w, ", unless all is back within the grace of the hub (15 s by default). Above is what differs in the end if it is not; "+
		"if it is, the same differs as without --replace.\n")
}

// Replace deletes what a proposal applies and is there, then applies the proposal, and returns what is lost in between and the placements
// that it can affect.
func (s *Simulation) Replace(proposed *Proposal) (away *Away, touched []fleet.Key, err error) {
	before := s.Fork()
	there := slices.DeleteFunc(ObjectsOf(proposed.Applied), func(o ObjectReference) bool { return !s.has(o) })
	gone, err := s.ApplyChange(&Proposal{Applied: &file.Bundle{}, Deleted: there})
	if err != nil {
		return nil, nil, err
	}
	s.Stabilize(gone)
	away = &Away{Ungraced: slices.ContainsFunc(there, func(o ObjectReference) bool { return o.kind == "cluster" })}
	for _, placement := range Compare(before, s).Placements {
		if len(placement.Lost) > 0 {
			away.Placements, away.Clusters = away.Placements+1, away.Clusters+len(placement.Lost)
		}
	}
	touched, err = s.ApplyChange(proposed)
	all := slices.Concat(gone, touched)
	slices.SortFunc(all, fleet.Key.Compare)
	return away, slices.Compact(all), err
}

// has reports whether an object is there.
func (s *Simulation) has(o ObjectReference) bool {
	switch o.kind {
	case "set":
		_, there := s.snapshot.Set(o.name)
		return there
	case "binding":
		return slices.Contains(s.snapshot.BoundSets(o.namespace), o.name)
	case "placement":
		return s.placements[fleet.Key{Namespace: o.namespace, Name: o.name}] != nil
	case "score":
		id, known := s.snapshot.ID(o.namespace)
		return known && s.snapshot.Score(id, o.name) != nil
	default:
		id, known := s.snapshot.ID(o.name)
		return known && s.snapshot.Cluster(id) != nil
	}
}
