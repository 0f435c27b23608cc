package rollout_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/rollout"
)

// oracle decides which clusters start by applying the contract to each cluster, without optimization.
type oracle struct {
	situation

	config      clusterv1alpha1.RolloutConfig
	mandatory   []clusterv1alpha1.MandatoryDecisionGroup
	concurrency intstr.IntOrString
}

func newOracle(m situation) oracle {
	o := oracle{situation: m}
	switch m.strategy.Type {
	case clusterv1alpha1.Progressive:
		p := m.strategy.Progressive
		o.config, o.mandatory, o.concurrency = p.RolloutConfig, p.MandatoryDecisionGroups.MandatoryDecisionGroups, p.MaxConcurrency
	case clusterv1alpha1.ProgressivePerGroup:
		p := m.strategy.ProgressivePerGroup
		o.config, o.mandatory = p.RolloutConfig, p.MandatoryDecisionGroups.MandatoryDecisionGroups
	default:
		o.config = m.strategy.All.RolloutConfig
		o.config.MinSuccessTime.Duration = 0
	}
	return o
}

// share returns a number or percentage of a total.
func share(x intstr.IntOrString, total int) int {
	out := int(x.IntVal)
	if x.Type == intstr.String {
		percent, _ := strconv.Atoi(strings.TrimSuffix(x.StrVal, "%"))
		for out*100 < percent*total {
			out++
		}
	}
	return min(out, total)
}

func (o oracle) refers(list []clusterv1alpha1.MandatoryDecisionGroup, group decision.Group) bool {
	for _, to := range list {
		if to.GroupName == group.Name && to.GroupName != "" || to.GroupName == "" && int(to.GroupIndex) == group.Index {
			return true
		}
	}
	return false
}

// orderedGroups returns every group in the order of the rollout.
func (o oracle) orderedGroups() []decision.Group {
	var out []decision.Group
	for _, to := range o.mandatory {
		for index := range 100 {
			for _, group := range o.groups.Groups {
				known := slices.ContainsFunc(out, func(g decision.Group) bool { return g.Index == group.Index })
				if group.Index == index && !known && o.refers([]clusterv1alpha1.MandatoryDecisionGroup{to}, group) {
					out = append(out, group)
				}
			}
		}
	}
	for index := range 100 {
		for _, group := range o.groups.Groups {
			if group.Index == index && !o.refers(o.mandatory, group) {
				out = append(out, group)
			}
		}
	}
	return out
}

func (o oracle) failed(cluster string) bool {
	s := o.statuses[cluster]
	late := false
	if o.config.ProgressDeadline != "" {
		deadline, _ := time.ParseDuration(o.config.ProgressDeadline)
		late = !s.Since.IsZero() && o.now.Sub(s.Since) >= deadline
	}
	return s.State == rollout.StateFailed || s.State == rollout.StateTimedOut || s.State == rollout.StateProgressing && late
}

func (o oracle) underWay(cluster string) bool {
	s := o.statuses[cluster]
	soaking := s.State == rollout.StateSucceeded && !s.Since.IsZero() && o.now.Sub(s.Since) < o.config.MinSuccessTime.Duration
	return soaking || s.State == rollout.StateProgressing && !o.failed(cluster)
}

func (o oracle) toStart(cluster string) bool {
	s, known := o.statuses[cluster]
	return !known || s.State == rollout.StateToApply
}

func (o oracle) count(clusters []string, is func(string) bool) int {
	n := 0
	for _, cluster := range clusters {
		if is(cluster) {
			n++
		}
	}
	return n
}

func (o oracle) all() []string {
	var out []string
	for _, group := range o.orderedGroups() {
		out = append(out, group.Clusters...)
	}
	return out
}

func (o oracle) breached() bool {
	if o.strategy.Type == clusterv1alpha1.Progressive && o.count(o.all(), o.failed) > share(o.config.MaxFailures, len(o.all())) {
		return true
	}
	for _, group := range o.orderedGroups() {
		failed := o.count(group.Clusters, o.failed)
		if o.refers(o.mandatory, group) && failed > 0 {
			return true
		}
		if o.strategy.Type == clusterv1alpha1.ProgressivePerGroup && failed > share(o.config.MaxFailures, len(group.Clusters)) {
			return true
		}
	}
	return false
}

func (o oracle) places() int {
	all := len(o.all())
	if o.strategy.Type != clusterv1alpha1.Progressive {
		return all
	}
	rest := 0
	for _, group := range o.orderedGroups() {
		if !o.refers(o.mandatory, group) {
			rest += len(group.Clusters)
		}
	}
	if rest == 0 || o.concurrency.Type == intstr.Int {
		rest = all
	}
	for _, limit := range []int{share(o.concurrency, rest), share(o.groups.ClustersPerDecisionGroup, all)} {
		if limit > 0 {
			return limit
		}
	}
	return all
}

// closed reports whether a group blocks the later groups.
func (o oracle) closed(group decision.Group) bool {
	toStart := o.count(group.Clusters, o.toStart)
	if o.refers(o.mandatory, group) || o.strategy.Type == clusterv1alpha1.ProgressivePerGroup {
		return toStart+o.count(group.Clusters, o.underWay) > 0
	}
	return o.strategy.Type == clusterv1alpha1.Progressive && toStart > 0 && !o.approved(group)
}

func (o oracle) approved(group decision.Group) bool {
	a := o.strategy.Approval
	return a == nil || o.refers(a.Approved, group) || len(a.Required) > 0 && !o.refers(a.Required, group)
}

func (o oracle) starts() []string {
	var out []string
	if o.strategy.Paused || o.breached() {
		return nil
	}
	for _, group := range o.orderedGroups() {
		for _, cluster := range group.Clusters {
			free := o.count(o.all(), o.underWay)+len(out) < o.places()
			if o.toStart(cluster) && o.approved(group) && free {
				out = append(out, cluster)
			}
		}
		if o.closed(group) {
			return out
		}
	}
	return out
}

// TestNextFollowsItsContract compares Next with the oracle: which clusters start, and whether too many failed.
func TestNextFollowsItsContract(t *testing.T) {
	phases := map[rollout.Phase]int{}
	started := 0
	follow(t, func(t *testing.T, at string, _ random, m situation) {
		step, o := m.next(), newOracle(m)
		phases[step.Phase]++
		started += len(step.Apply)
		if diff := cmp.Diff(o.starts(), step.Apply, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s: starts (-oracle +next):\n%s", at, step.Phase, diff)
		}
		if step.Breached != o.breached() {
			t.Errorf("%s: phase %s, breached for the oracle: %t", at, step.Phase, o.breached())
		}
		if step.Total > 0 && step.MaxConcurrency != o.places() {
			t.Errorf("%s: %d places, %d for the oracle", at, step.MaxConcurrency, o.places())
		}
	})
	for _, phase := range []rollout.Phase{
		rollout.PhaseUndecided, rollout.PhaseEmpty, rollout.PhaseBreached, rollout.PhaseAdvancing, rollout.PhaseFinished, rollout.PhasePaused,
		rollout.PhaseWaiting, rollout.PhaseSoaking, rollout.PhaseUnapproved,
	} {
		if phases[phase] < 50 {
			t.Errorf("only %d moments are %s: these histories show little", phases[phase], phase)
		}
	}
	t.Logf("%d clusters started; phases: %v", started, phases)
}
