package enginetest

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// interval is the interval of the budget.
func (r *run) interval() time.Duration {
	if of := r.spec.DisruptionPolicy.Interval.Duration; of != 0 {
		return of
	}
	return 10 * time.Minute
}

// allows returns how many clusters may be removed within the interval.
func (r *run) allows(selected int) int {
	most := r.spec.DisruptionPolicy.MaxUnavailable.String()
	number, err := strconv.Atoi(strings.TrimSuffix(most, "%"))
	if err != nil {
		panic(err)
	}
	if strings.HasSuffix(most, "%") {
		return (number*selected + 99) / 100
	}
	return number
}

// applyBudget holds as many removals as the budget requires. It returns the chosen clusters and the memory to store.
func (r *run) applyBudget(first *view, ideal map[string]bool) (chosen map[string]bool, next memory) {
	chosen, next = ideal, memory{sameSpec: true, held: map[string]time.Time{}, release: map[string]time.Time{}}
	var held, paid []string
	if r.spec.DisruptionPolicy != nil {
		chosen, next.spent, held, paid = r.spendBudget(first, ideal)
	}
	last := r.view(chosen)
	next.waiting = r.waiting(last, first)
	if len(held) == 0 {
		return chosen, next
	}
	after := *r
	after.memory, after.views = memory{sameSpec: true, waiting: next.waiting}, map[string]*view{}
	for name := range minus(chosen, after.ideal(last.as(&after))) {
		next.held[name] = r.heldSince(name)
		if slices.Contains(paid, name) {
			next.held[name] = ceil(r.w.Now) // it was picked again, so it starts at the end
		}
	}
	r.schedule(first, next, r.allows(len(chosen)))
	return chosen, next
}

// as returns the view for another run, with another memory.
func (v *view) as(r *run) *view {
	out := *v
	out.evaluator = &evaluator{run: r}
	return &out
}

// heldSince returns since when a held cluster is held.
func (r *run) heldSince(name string) time.Time {
	if from, known := r.memory.held[name]; known {
		return from
	}
	return ceil(r.w.Now)
}

// spendBudget removes as much of the row as the budget allows, and returns the rest of it and the clusters charged to the
// budget.
func (r *run) spendBudget(first *view, ideal map[string]bool) (chosen map[string]bool, spent []payment, held, paid []string) {
	paid, row := r.removals(first, ideal)
	spent = r.redate(len(paid))
	active := 0
	for _, payment := range spent {
		if r.w.Now.Before(payment.at.Add(r.interval())) {
			active += payment.count
		}
	}
	before := len(r.incumbents)
	if r.memory.sameSpec && active > 0 && len(r.memory.held)+len(r.memory.releasing) > 0 {
		before = 0 // the held clusters may have increased it
	}
	room := func(size int) int { return min(len(row), max(0, r.allows(size)-active)) }
	chosen, released := r.release(first, ideal, row, room(before))
	for n := room(len(chosen)); n > len(released); n-- {
		if more, all := r.release(first, ideal, row, n); room(len(more)) >= n &&
			!slices.ContainsFunc(all, func(name string) bool { return more[name] }) {
			chosen, released = more, all
		}
	}
	return chosen, r.pay(spent, len(released)), row[len(released):], append(paid, released...)
}

// removals returns the incumbents to be removed: those charged to the budget, and the row of the others, held longest first.
// Clusters that are gone or unreachable, and those that a change of the spec removes, are left out.
func (r *run) removals(first *view, ideal map[string]bool) (paid, row []string) {
	for _, name := range names(minus(r.incumbents, ideal)) {
		_, held := r.memory.held[name]
		switch {
		case !first.scope.candidates[name]:
		case r.memory.releasing[name]:
			paid = append(paid, name)
		case r.memory.sameSpec || held:
			row = append(row, name)
		}
	}
	sortForRemoval(first, row, r.heldSince)
	return paid, row
}

// sortForRemoval sorts clusters in the order of their removal.
func sortForRemoval(first *view, row []string, since func(string) time.Time) {
	slices.SortFunc(row, func(a, b string) int {
		return cmp.Or(since(a).Compare(since(b)), cmp.Compare(toInt(first.in[a]), toInt(first.in[b])), cmp.Compare(a, b))
	})
}

// redate dates the newest entries anew for charged clusters that are removed only now.
func (r *run) redate(leaving int) []payment {
	spent := slices.Clone(r.memory.spent)
	for i, left := len(spent)-1, leaving; i >= 0 && left > 0; i-- {
		taken := min(left, spent[i].count)
		spent[i].count -= taken
		left -= taken
	}
	spent = slices.DeleteFunc(spent, func(p payment) bool { return p.count == 0 })
	return r.pay(spent, leaving)
}

// pay adds an entry and removes those that no longer count. Of more than 64, the two oldest become one.
func (r *run) pay(spent []payment, count int) []payment {
	if count == 0 {
		return spent
	}
	now := ceil(r.w.Now)
	out := []payment{{now, count}}
	for _, have := range spent {
		switch {
		case have.at.Equal(now):
			out[0].count += have.count
		case r.w.Now.Before(have.at.Add(r.interval())):
			out = append(out, have)
		}
	}
	sortPayments(out)
	for len(out) > 64 {
		out[1].count += out[0].count
		out = out[1:]
	}
	return out
}

func sortPayments(of []payment) {
	slices.SortFunc(of, func(a, b payment) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.count, b.count)) })
}

// release removes the first of the row and picks the best beside all others.
func (r *run) release(first *view, ideal map[string]bool, row []string, room int) (chosen map[string]bool, released []string) {
	released = row[:min(room, len(row))]
	if len(released) == len(row) {
		return ideal, released
	}
	keep := both(r.incumbents, ideal)
	for _, name := range slices.Backward(row[len(released):]) {
		if r.wants(len(keep)) {
			keep[name] = true
		}
	}
	return first.pick(keep, first.in), released
}

// schedule computes when each held cluster is released, if nothing else changes.
func (r *run) schedule(first *view, next memory, slots int) {
	row := slices.Collect(maps.Keys(next.held))
	sortForRemoval(first, row, func(name string) time.Time { return next.held[name] })
	var ends []time.Time
	for _, spent := range next.spent {
		for range spent.count {
			ends = append(ends, spent.at.Add(r.interval()))
		}
	}
	ends = slices.DeleteFunc(ends, func(end time.Time) bool { return !end.After(r.w.Now) })
	if len(ends) > 0 {
		slots = min(slots, len(ends)) // a place that seems free is there only while they are held
	}
	for _, name := range row {
		slices.SortFunc(ends, time.Time.Compare)
		if slots == 0 || len(ends) < slots {
			return
		}
		at := ends[len(ends)-slots]
		next.release[name] = at
		ends = append(ends, at.Add(r.interval()))
	}
}

// releases returns the instants at which held clusters may be released.
func releases(next memory) []time.Time { return slices.Collect(maps.Values(next.release)) }
