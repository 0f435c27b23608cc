package rollout

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/decision"
)

// Next returns what to do now. It depends on its arguments alone and does not change them. A nil strategy has type All.
func Next(strategy *clusterv1alpha1.RolloutStrategy, groups Groups, statuses []Status, now time.Time) Step {
	r, errs := compile(strategy, nil)
	size, err := parse(groups.ClustersPerDecisionGroup, field.NewPath("clustersPerDecisionGroup"))
	w := planner{rules: r, now: now, errs: appendError(errs, err)}
	if len(w.errs) > 0 {
		w.deadline = never // a mistake times out no cluster
	}
	w.orderGroups(groups.Groups)
	w.classify(statuses)
	w.checkLimits(size)
	w.start()
	return w.step(groups.Groups)
}

// groupState is a decision group with its counts.
type groupState struct {
	key       decision.GroupKey
	mandatory bool
	clusters  []string
	// first and last bound the verdicts of the group.
	first, last int
	// pending, inFlight and failures count the clusters that have not started, are under way or soaking, and failed.
	pending, inFlight, failures int
}

func (s *groupState) size() int  { return s.last - s.first }
func (s *groupState) done() bool { return s.pending+s.inFlight == 0 }

// planner computes one step.
type planner struct {
	rules

	now    time.Time
	errs   field.ErrorList
	groups []groupState
	// verdicts are by group. left has the clusters that are no longer selected, by name.
	verdicts []Verdict
	removed  []string
	// inFlightLimit is how many clusters may be in flight, inFlight how many are before this step.
	inFlightLimit, inFlight, failures int
	breached                          bool
}

// orderGroups puts the groups in the order of the rollout: mandatory groups as the strategy lists them, then the others by index.
func (p *planner) orderGroups(groups []decision.Group) {
	sorted := slices.Clone(groups)
	slices.SortStableFunc(sorted, func(a, b decision.Group) int { return a.Compare(b.GroupKey) })
	taken := make([]bool, len(sorted))
	add := func(i int, mandatory bool) {
		taken[i] = true
		p.groups = append(p.groups, groupState{key: sorted[i].GroupKey, mandatory: mandatory, clusters: sortedNames(sorted[i].Clusters)})
	}
	for _, to := range p.mandatory {
		for i := range sorted {
			if !taken[i] && refersTo(to, sorted[i].GroupKey) {
				add(i, true)
			}
		}
	}
	for i := range sorted {
		if !taken[i] {
			add(i, false)
		}
	}
}

func sortedNames(names []string) []string {
	if slices.IsSorted(names) {
		return names
	}
	return slices.Sorted(slices.Values(names))
}

// classify gives every cluster the code of its status, and counts the codes.
func (p *planner) classify(statuses []Status) {
	total := 0
	for _, s := range p.groups {
		total += len(s.clusters)
	}
	p.verdicts = make([]Verdict, 0, total)
	known := make(map[string]int, max(total, len(statuses))) // position of the status that counts, or placed
	for i, status := range statuses {
		if other, twice := known[status.Cluster]; !twice || worse(status, statuses[other]) {
			known[status.Cluster] = i
		}
	}
	for i := range p.groups {
		s := &p.groups[i]
		s.first = len(p.verdicts)
		for _, cluster := range s.clusters {
			status := Status{State: StateToApply}
			if position, has := known[cluster]; has && position == hasVerdict {
				continue
			} else if has {
				status = statuses[position]
			}
			known[cluster] = hasVerdict
			code, until := status.code(p.rules, p.now)
			p.verdicts = append(p.verdicts, Verdict{cluster, s.key, code, until})
			s.count(code)
		}
		s.last = len(p.verdicts)
		p.inFlight += s.inFlight
		p.failures += s.failures
	}
	for cluster, position := range known {
		if position != hasVerdict {
			p.removed = append(p.removed, cluster)
		}
	}
	slices.Sort(p.removed)
}

// hasVerdict marks a cluster that has a verdict.
const hasVerdict = -1

// worse reports whether status a counts rather than status b of the same cluster: the state further from success, else the
// earlier time. A status with a time counts before a status without.
func worse(a, b Status) bool {
	if x, y := a.State.severity(), b.State.severity(); x != y {
		return x > y
	}
	return !a.Since.IsZero() && (b.Since.IsZero() || a.Since.Before(b.Since))
}

func (s *groupState) count(code Code) {
	switch code {
	case pending:
		s.pending++
	case UnderWay, Soaking:
		s.inFlight++
	case Failing, TimedOut:
		s.failures++
	default: // no group waits for the other codes
	}
}

// checkLimits sets how many clusters may be in flight, and whether too many failed.
func (p *planner) checkLimits(size threshold) {
	total := len(p.verdicts)
	p.inFlightLimit = total
	if p.kind == clusterv1alpha1.Progressive {
		p.inFlightLimit = p.maxConcurrency(size)
		p.breached = p.failures > p.maxFailures.of(total)
	}
	for _, s := range p.groups {
		switch {
		case s.mandatory:
			p.breached = p.breached || s.failures > 0
		case p.kind == clusterv1alpha1.ProgressivePerGroup:
			p.breached = p.breached || s.failures > p.maxFailures.of(s.size())
		}
	}
}

// maxConcurrency returns how many clusters may be in flight. A percentage of maxConcurrency is of the clusters outside the mandatory
// groups; clustersPerDecisionGroup, the default, is of all clusters.
func (p *planner) maxConcurrency(size threshold) int {
	total, base := len(p.verdicts), 0
	for _, s := range p.groups {
		if !s.mandatory {
			base += s.size()
		}
	}
	if base == 0 || !p.concurrency.percent {
		base = total
	}
	if limit := p.concurrency.of(base); limit > 0 {
		return limit
	}
	if limit := size.of(total); limit > 0 {
		return limit
	}
	return total
}

// start gives every pending cluster a code: it starts or waits.
func (p *planner) start() {
	free := p.inFlightLimit - p.inFlight
	blocked := false
	for i := range p.groups {
		s := &p.groups[i]
		hold := p.waitReason(s, blocked)
		for j := s.first; j < s.last; j++ {
			v := &p.verdicts[j]
			switch {
			case v.Code != pending:
				continue
			case hold != pending:
				v.Code = hold
			case free <= 0:
				v.Code = WaitsForPlace
			default:
				v.Code = Starting
				free--
			}
		}
		unapproved := hold == WaitsForApproval && s.pending > 0 && p.ordered()
		blocked = blocked || unapproved || p.blocksLaterGroups(s.mandatory) && !s.done()
	}
}

// waitReason returns why a whole group must not start; pending if it may.
func (p *planner) waitReason(s *groupState, blocked bool) Code {
	switch {
	case len(p.errs) > 0:
		return WaitsForStrategy
	case p.breached:
		return WaitsForRepair
	case p.paused:
		return WaitsForResume
	case blocked:
		return WaitsForGroup
	case !p.approved(s.key):
		return WaitsForApproval
	default:
		return pending
	}
}
