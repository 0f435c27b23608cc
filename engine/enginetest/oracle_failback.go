package enginetest

import (
	"slices"
	"time"
)

// stabilization is how long a cluster of an earlier tier must qualify before it displaces one of a later tier.
func (r *run) stabilization() time.Duration {
	if len(r.spec.Tiers) == 0 {
		return 0
	}
	policy := r.spec.FailbackPolicy
	if policy == nil || policy.StabilizationSeconds == nil {
		return 5 * time.Minute
	}
	return time.Duration(*policy.StabilizationSeconds) * time.Second
}

// recovered returns the candidates that are not selected and are in an earlier tier than a selected one.
func (v *view) recovered() []string {
	latest := -1
	for name := range v.selected {
		if v.eligible(name) {
			latest = max(latest, v.tier[name])
		}
	}
	var out []string
	for _, name := range names(v.in) {
		if v.eligible(name) && !v.selected[name] && v.tier[name] < latest {
			out = append(out, name)
		}
	}
	return out
}

// unstable returns the recovered clusters that have not qualified long enough. A change of the spec takes effect at once.
func (v *view) unstable(sameSpec bool, waiting map[string]time.Time) map[string]bool {
	out := map[string]bool{}
	if v.stabilization() == 0 || !sameSpec {
		return out
	}
	for _, name := range v.recovered() {
		if from, known := waiting[name]; !known || v.w.Now.Before(from.Add(v.stabilization())) {
			out[name] = true
		}
	}
	return out
}

// waiting returns since when recovered clusters qualify, for the best thousand.
func (r *run) waiting(last, first *view) map[string]time.Time {
	out := map[string]time.Time{}
	if r.stabilization() == 0 {
		return out
	}
	line := last.recovered()
	slices.SortFunc(line, func(a, b string) int {
		if first.precedes(a, b) {
			return -1
		}
		return 1
	})
	for _, name := range line[:min(1000, len(line))] {
		from, known := r.memory.waiting[name]
		if !known {
			from = ceil(r.w.Now)
		}
		out[name] = from
	}
	return out
}

// failbackTimes returns the instants at which a cluster has waited long enough.
func (r *run) failbackTimes(next memory) []time.Time {
	var out []time.Time
	for _, from := range next.waiting {
		if at := from.Add(r.stabilization()); at.After(r.w.Now) {
			out = append(out, at)
		}
	}
	return out
}
