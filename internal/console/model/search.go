package model

import "strings"

// Match is an object that a search finds.
type Match struct {
	// Kind is cluster, set or placement.
	Kind string `json:"kind"`
	// Namespace is empty for clusters and sets.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Search returns the first objects whose name has a text, at most limit of each kind. Names that begin with the text come first.
func (s *State) Search(text string, limit int) []Match {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" {
		return nil
	}
	var placements, clusters, sets matches
	for _, placement := range s.Bundle.Placements {
		placements.add(text, Match{"placement", placement.Namespace, placement.Name})
	}
	for _, cluster := range s.Bundle.Clusters {
		clusters.add(text, Match{Kind: "cluster", Name: cluster.Name})
	}
	for _, set := range s.sets {
		sets.add(text, Match{Kind: "set", Name: set.Name})
	}
	var out []Match
	for _, found := range []matches{placements, clusters, sets} {
		all := append(found.begin, found.other...) //nolint:gocritic // found.begin is not used afterwards
		out = append(out, all[:min(len(all), limit)]...)
	}
	return out
}

// matches are the objects of a kind whose name begins with a text, and those whose name has it elsewhere.
type matches struct{ begin, other []Match }

func (m *matches) add(text string, found Match) {
	switch at := strings.Index(found.Name, text); {
	case at == 0:
		m.begin = append(m.begin, found)
	case at > 0 || found.Namespace != "" && strings.Contains(found.Namespace+"/"+found.Name, text):
		m.other = append(m.other, found)
	}
}
