package enginetest

import (
	"fmt"
	"slices"
	"time"
)

// verdicts has the verdict on every cluster, and how many of them each hard term blocks.
type verdicts struct {
	verdicts map[string]string
	blocked  map[string]int
}

// verdicts returns the verdict on every cluster.
func (r *run) verdicts(first, last *view, next memory, chosen map[string]bool) verdicts {
	out := verdicts{verdicts: map[string]string{}, blocked: map[string]int{}}
	beside := last.counter(chosen)
	waits := last.unstable(true, next.waiting)
	for name := range r.w.Clusters {
		_, held := next.held[name]
		switch {
		case chosen[name] && held:
			out.verdicts[name] = "Held" + until(next.release[name]) + ", else " + r.underlying(first, name)
		case chosen[name] && (first.held[name] || first.scope.held[name] || slices.Contains(r.braked(), name)):
			out.verdicts[name] = "Held"
		case chosen[name]:
			out.verdicts[name] = "Selected"
		case !first.in[name]:
			out.verdicts[name] = first.rejected[name]
		case waits[name]:
			out.verdicts[name] = "Waiting" + until(r.since(next, name).Add(r.stabilization()))
		case last.in[name]:
			out.verdicts[name] = r.rejection(first, beside, name, out.blocked)
		default:
			out.verdicts[name] = "Beaten" // it was a candidate only since it was selected
		}
	}
	return out
}

// underlying returns the verdict that a held cluster would have.
func (r *run) underlying(first *view, name string) string {
	if !first.in[name] {
		return first.rejected[name]
	}
	if _, lacks := r.lacks(name); lacks {
		return "Capped"
	}
	return "Beaten"
}

// until returns an instant as text, if there is one.
func until(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return " until " + at.UTC().Format(time.RFC3339Nano)
}

// since is when a waiting cluster began to wait.
func (r *run) since(next memory, name string) time.Time {
	if from, known := next.waiting[name]; known {
		return from
	}
	return ceil(r.w.Now)
}

// rejection returns the verdict on a candidate: a term blocks it, or others outrank it.
func (r *run) rejection(first *view, beside *domainCounter, name string, count map[string]int) string {
	if term, lacks := r.lacks(name); lacks {
		count[term.text]++
		return r.blockedBy(term, name)
	}
	if !r.wants(len(beside.chosen)) && !first.precedesAny(name, beside.chosen) {
		return "Beaten"
	}
	for _, term := range r.antiAffinity {
		if rival := beside.takenBy(term, name); rival != "" {
			count[term.text]++
			return r.blockedBy(term, name) + " of " + rival
		}
	}
	for _, hard := range []bool{true, false} {
		for i, constraint := range r.spread {
			if constraint.hard != hard || beside.skew(r.paths[name], i)+1 <= constraint.skew {
				continue
			}
			if hard {
				count[constraint.text]++
			}
			return r.blockedBy(constraint, name)
		}
	}
	return "Beaten"
}

func (r *run) blockedBy(term topology, name string) string {
	value, has := term.value(r.w.Clusters[name])
	return fmt.Sprintf("Capped by %s: %q %v", term.text, value, has)
}

// precedesAny reports whether a cluster precedes an eligible one of the chosen.
func (v *view) precedesAny(name string, chosen map[string]bool) bool {
	return slices.ContainsFunc(names(chosen), func(other string) bool { return v.eligible(other) && v.precedes(name, other) })
}
