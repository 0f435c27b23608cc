package rollout

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/decision"
)

// Next returns what to do now. It depends on its arguments alone and does not change them. A nil strategy has type All.
func Next(strategy *clusterv1alpha1.RolloutStrategy, groups Groups, statuses []Status, now time.Time) Step {
	return next(strategy, groups, statuses, Evidence{}, now)
}

func next(strategy *clusterv1alpha1.RolloutStrategy, groups Groups, statuses []Status, evidence Evidence, now time.Time) Step {
	r, errs := compile(strategy, nil)
	size, err := parse(groups.ClustersPerDecisionGroup, field.NewPath("clustersPerDecisionGroup"))
	p := planner{rules: r, now: now, errs: appendError(errs, err), evidence: evidence}
	if len(p.errs) > 0 {
		p.deadline = never // a mistake times out no cluster
	}
	if evidence.Gates != nil {
		p.mandatory = nil
		for _, gate := range evidence.Gates {
			p.mandatory = append(p.mandatory, gate.Group)
		}
	}
	p.orderGroups(groups.Groups)
	p.classify(statuses)
	p.checkLimits(size)
	p.start()
	return p.step(groups.Groups)
}

// groupState is a decision group with its counts.
type groupState struct {
	key       decision.GroupKey
	mandatory bool
	// gate is the position of a mandatory group among those of the strategy. For any other group it is their number.
	gate     int
	clusters []string
	// first and last bound the verdicts of the group.
	first, last int
	// pending, inFlight and failures count the clusters that have not started, are under way or soaking, and failed. A cluster that
	// failed before and is under way again counts twice.
	pending, inFlight, failures int
}

func (s *groupState) size() int  { return s.last - s.first }
func (s *groupState) done() bool { return s.pending+s.inFlight == 0 }

// planner computes one step.
type planner struct {
	rules

	now      time.Time
	errs     field.ErrorList
	evidence Evidence
	groups   []groupState
	// verdicts are by group. left has the clusters that are no longer selected, by name.
	verdicts []Verdict
	removed  []string
	// inFlightLimit is how many clusters may be in flight, inFlight how many are before this step.
	inFlightLimit, inFlight, failures int
	// lost counts the clusters that are lost.
	lost     int
	breached bool
}

// orderGroups puts the groups in the order of the rollout: mandatory groups as the strategy lists them, then the others by index.
func (p *planner) orderGroups(groups []decision.Group) {
	sorted := slices.Clone(groups)
	slices.SortStableFunc(sorted, func(a, b decision.Group) int { return a.Compare(b.GroupKey) })
	taken := make([]bool, len(sorted))
	add := func(i, gate int) {
		taken[i] = true
		p.groups = append(p.groups, groupState{
			key: sorted[i].GroupKey, mandatory: gate < len(p.mandatory), gate: gate, clusters: sortedNames(sorted[i].Clusters),
		})
	}
	for gate, to := range p.mandatory {
		for i := range sorted {
			if !taken[i] && refersTo(to, sorted[i].GroupKey) {
				add(i, gate)
			}
		}
	}
	for i := range sorted {
		if !taken[i] {
			add(i, len(p.mandatory))
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
			p.verdicts = append(p.verdicts, Verdict{
				Cluster: cluster, Group: s.key, Code: code, Until: until, Failed: status.Failed, Forgiven: status.Forgiven && code == Skipped,
			})
			s.count(code, status.Failed)
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

func (s *groupState) count(code Code, failed bool) {
	if failed && code != Failing && code != TimedOut {
		s.failures++
	}
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
	}
	if limit := p.evidence.InFlightLimit; limit > 0 && p.ordered() {
		p.inFlightLimit = min(p.inFlightLimit, limit)
	}
	for _, lost := range p.evidence.Lost {
		p.lost += lost
	}
	p.breached = !p.evidence.Finished && (p.elsewhere() || p.exceeded(cmp.Or(p.evidence.Total, total)))
}

// mandatoryFailed reports whether a cluster of a mandatory group failed.
func (p *planner) mandatoryFailed() bool {
	for key, lost := range p.evidence.Lost {
		if lost > 0 && p.isMandatory(key) {
			return true
		}
	}
	return slices.ContainsFunc(p.groups, func(s groupState) bool { return s.mandatory && s.failures > 0 })
}

// elsewhere reports whether the rollout stands still for the breach of another.
func (p *planner) elsewhere() bool { return p.evidence.Breached && !p.evidence.Finished }

// exceeded reports whether more clusters failed than maxFailures allows, of a total.
func (p *planner) exceeded(total int) bool {
	perGroup := p.kind == clusterv1alpha1.ProgressivePerGroup
	if !perGroup && (p.ordered() || p.judgesAll()) && p.failures+p.lost > p.maxFailures.of(total) {
		return true
	}
	if p.mandatoryFailed() {
		return true
	}
	for key, lost := range p.evidence.Lost {
		gone := !slices.ContainsFunc(p.groups, func(s groupState) bool { return s.key == key })
		if gone && perGroup && lost > p.maxFailures.of(lost) {
			return true
		}
	}
	return perGroup && slices.ContainsFunc(p.groups, func(s groupState) bool {
		lost := p.evidence.Lost[s.key]
		return !s.mandatory && s.failures+lost > p.maxFailures.of(s.size()+lost)
	})
}

// judgesAll reports whether failures breach a rollout of type All: for a caller with a memory, who holds back what is new.
func (p *planner) judgesAll() bool { return p.evidence.Gates != nil }

// isMandatory reports whether a group that may be gone is mandatory.
func (p *planner) isMandatory(key decision.GroupKey) bool {
	return slices.ContainsFunc(p.mandatory, func(to clusterv1alpha1.MandatoryDecisionGroup) bool { return refersTo(to, key) })
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
				v.Code, v.Closed = hold, p.closed(s)
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

// unproven returns the first mandatory group before a group that was not passed, although none of its clusters is left to start or under
// way; nil for none.
func (p *planner) unproven(s *groupState) *clusterv1alpha1.MandatoryDecisionGroup {
	for i, gate := range p.evidence.Gates[:min(s.gate, len(p.evidence.Gates))] {
		proving := gate.Proving || slices.ContainsFunc(p.groups, func(other groupState) bool { return other.gate == i && !other.done() })
		if !gate.Passed && !proving {
			return &gate.Group
		}
	}
	return nil
}

// awaited returns the group that a group which is not done waits for: a mandatory group that another rollout proves, else itself.
func (p *planner) awaited(s *groupState) decision.GroupKey {
	for i, gate := range p.evidence.Gates[:min(s.gate, len(p.evidence.Gates))] {
		if gate.Passed || !gate.Proving {
			continue
		}
		if at := slices.IndexFunc(p.groups, func(other groupState) bool { return other.gate == i }); at >= 0 {
			return p.groups[at].key
		}
		return decision.GroupKey{Index: int(gate.Group.GroupIndex), Name: gate.Group.GroupName}
	}
	return s.key
}

// closed reports whether a mandatory group before a group was not passed.
func (p *planner) closed(s *groupState) bool {
	return slices.ContainsFunc(p.evidence.Gates[:min(s.gate, len(p.evidence.Gates))], func(gate Gate) bool { return !gate.Passed })
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
	case p.unproven(s) != nil:
		return WaitsForProof
	case blocked || p.closed(s):
		return WaitsForGroup
	case !p.approved(s.key):
		return WaitsForApproval
	default:
		return pending
	}
}
