package wake

import (
	"slices"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// Await records what a placement names and no cluster in its reach has, in place of what was recorded before. A change of a cluster
// that has it touches the placement. There are few such placements, so they are looked at one by one.
func (i *Index) Await(key fleet.Key, references []program.Reference) {
	if len(references) == 0 {
		delete(i.awaiting, key)
		return
	}
	i.awaiting[key] = references
}

// appendAwaiting adds the placements that await what a cluster has, after a change of what selectors read.
func (i *Index) appendAwaiting(out []fleet.Key, c *clusterChange, is *fleet.Cluster) []fleet.Key {
	if len(i.awaiting) == 0 || is == nil || !c.labels && !c.affectsAll() {
		return out
	}
	for key, references := range i.awaiting {
		if slices.ContainsFunc(references, func(of program.Reference) bool { return c.has(is, of) }) && !slices.Contains(out, key) {
			out = append(out, key)
		}
	}
	return out
}

// has reports whether a cluster has the label, claim, name or score of a reference.
func (c *clusterChange) has(is *fleet.Cluster, of program.Reference) bool {
	switch {
	case of.Set != "":
		return false
	case of.Source == fleet.Name:
		return slices.Contains(of.Names, is.Name())
	case of.Resource != "":
		id, _ := c.fleet.ID(is.Name())
		return slices.Contains(c.fleet.ScoreNames(id, of.Resource), of.Score)
	default:
		_, ok := is.Value(of.Source, of.Key)
		return ok
	}
}

// appendAwaitingScore adds the placements that await a score of a resource.
func (i *Index) appendAwaitingScore(out []fleet.Key, resource string) []fleet.Key {
	for key, references := range i.awaiting {
		if slices.ContainsFunc(references, func(of program.Reference) bool { return of.Resource == resource }) && !slices.Contains(out, key) {
			out = append(out, key)
		}
	}
	return out
}
