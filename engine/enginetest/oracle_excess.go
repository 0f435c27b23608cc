package enginetest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-project/berth/engine"
)

// spreadCondition names the domains that exceed a hard constraint beside the chosen clusters.
func (r *run) spreadCondition(beside *domainCounter) engine.Condition {
	var problems []string
	for i, constraint := range r.spread {
		byDomain := map[string]string{}
		for name := range beside.in {
			if text := beside.excessText(name, i); constraint.hard && text != "" {
				byDomain[strings.Join(r.domainNames(name)[:i], "\x00")] = text
			}
		}
		for _, domain := range slices.Sorted(maps.Keys(byDomain)) {
			problems = append(problems, byDomain[domain])
		}
	}
	out := engine.Condition{Type: "SpreadExceeded"}
	switch {
	case len(problems) > 0:
		out.Status, out.Reason = "True", "MaxSkewExceeded"
		out.Message = strings.Join(problems, "; ") + ". Selected ManagedClusters leave for that only if a replacement is selected, " +
			"and a domain that exceeds maxSkew gets no more"
	case r.stores(out.Type):
		out.Status, out.Reason, out.Message = "False", "WithinMaxSkew", "No domain exceeds maxSkew of a DoNotSchedule constraint"
	}
	return out
}

// excessText returns how the i-th constraint is exceeded among the domains beside that of a cluster; empty if it is not.
func (d *domainCounter) excessText(name string, i int) string {
	if !d.eligible(name) {
		return ""
	}
	counts := map[string]int{}
	for other := range d.in {
		if d.eligible(other) && d.paths[other][i] == d.paths[name][i] {
			counts[d.domainNames(other)[i]] = d.count[d.paths[other][i+1]]
		}
	}
	domains := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	least, constraint := counts[domains[len(domains)-1]], d.spread[i]
	var fullest, emptiest []string
	for _, domain := range domains {
		if counts[domain]-least > constraint.skew {
			fullest = append(fullest, fmt.Sprintf("%s has %d", domain, counts[domain]))
		}
		if counts[domain] == least {
			emptiest = append(emptiest, domain)
		}
	}
	if len(fullest) == 0 {
		return ""
	}
	within := ""
	if i > 0 {
		within = " within " + strings.Join(d.domainNames(name)[:i], ", ")
	}
	return fmt.Sprintf("%s%s exceeds maxSkew %d: %s, and the fewest, %d, are in %s",
		constraint.text, within, constraint.skew, firstFive(fullest), least, firstFive(emptiest))
}

// firstFive returns the first five texts and counts the others.
func firstFive(of []string) string {
	if len(of) > 5 {
		of = append(of[:5:5], strconv.Itoa(len(of)-5)+" more")
	}
	return strings.Join(of, ", ")
}

// domainNames returns the names of the domains of a cluster, one for each constraint.
func (r *run) domainNames(name string) []string {
	var out []string
	for _, constraint := range r.spread {
		value, has := constraint.value(r.w.Clusters[name])
		if has {
			out = append(out, strconv.Quote(value))
		} else {
			out = append(out, "no value")
		}
	}
	return out
}
