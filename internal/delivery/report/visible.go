package report

import (
	"slices"
	"strings"
)

// hiddenText replaces a text that names a cluster which the reader may not see.
const hiddenText = "the text names clusters that you may not see"

// Visible returns the report for a reader that may see some of the clusters. It counts the others, and no text names one of them.
func (r *Report) Visible(sees func(cluster string) bool) Report {
	out := *r
	out.Clusters, out.Placements, out.Lost = nil, nil, nil
	hidden := map[string]bool{}
	for _, cluster := range r.Clusters {
		if !sees(cluster.Cluster) {
			hidden[cluster.Cluster] = true
		}
	}
	for _, lost := range r.Lost {
		if sees(lost.Cluster) {
			out.Lost = append(out.Lost, lost)
		} else {
			hidden[lost.Cluster] = true
		}
	}
	out.Hidden = len(hidden)
	show := func(text string) string {
		if mentions(text, hidden) {
			return hiddenText
		}
		return text
	}
	out.Message, out.Unwritten = show(r.Message), show(r.Unwritten)
	for _, placement := range r.Placements {
		placement.Message = show(placement.Message)
		out.Placements = append(out.Placements, placement)
	}
	for _, cluster := range r.Clusters {
		if hidden[cluster.Cluster] {
			continue
		}
		cluster.Message, cluster.Next = show(cluster.Message), show(cluster.Next)
		if cluster.Failure != nil {
			failure := *cluster.Failure
			failure.Message = show(failure.Message)
			cluster.Failure = &failure
		}
		out.Clusters = append(out.Clusters, cluster)
	}
	return out
}

// OfPlacement keeps the clusters that a placement rules.
func (r *Report) OfPlacement(placement string) {
	r.Placements = slices.DeleteFunc(r.Placements, func(p Placement) bool { return p.Name != placement })
	r.Clusters = slices.DeleteFunc(r.Clusters, func(c Cluster) bool { return c.Placement != placement })
	r.Lost = slices.DeleteFunc(r.Lost, func(c LostCluster) bool { return c.Placement != placement })
	for _, p := range r.Placements {
		r.Summary.DesiredTotal, r.Summary.Updated = p.Selected, p.Updated
	}
}

// mentions reports whether a text has one of the names as a word.
func mentions(text string, names map[string]bool) bool {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.'
	})
	for _, word := range words {
		if names[word] || names[strings.Trim(word, "-.")] {
			return true
		}
	}
	return false
}
