package rollout_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/rollout"
)

// histories is how many random histories are followed, ticks how many things happen in each.
const histories, ticks = 600, 15

// random draws rollouts from few values.
type random struct{ *rand.Rand }

func newRandom(seed uint64) random {
	return random{rand.New(rand.NewPCG(seed, 0x5011))}
}

func (r random) chance(percent int) bool { return r.IntN(100) < percent }

func (r random) number() intstr.IntOrString {
	switch r.IntN(4) {
	case 0:
		return intstr.IntOrString{}
	case 1:
		return intstr.FromString(fmt.Sprintf("%d%%", r.IntN(101)))
	default:
		return intstr.FromInt32(r.Int32N(12))
	}
}

func (r random) references() []clusterv1alpha1.MandatoryDecisionGroup {
	var out []clusterv1alpha1.MandatoryDecisionGroup
	for range r.IntN(3) {
		if r.chance(50) {
			out = append(out, clusterv1alpha1.MandatoryDecisionGroup{GroupName: []string{"x", "y", "none"}[r.IntN(3)]})
		} else {
			out = append(out, clusterv1alpha1.MandatoryDecisionGroup{GroupIndex: r.Int32N(6)})
		}
	}
	return out
}

// strategy draws a strategy without pause and approval.
func (r random) strategy(deadline bool) *clusterv1alpha1.RolloutStrategy {
	config := clusterv1alpha1.RolloutConfig{MaxFailures: r.number()}
	if r.chance(50) {
		config.MinSuccessTime = metav1.Duration{Duration: time.Duration(r.IntN(20)) * time.Minute}
	}
	if deadline || r.chance(50) {
		config.ProgressDeadline = fmt.Sprintf("%dm", r.IntN(30))
	}
	mandatory := clusterv1alpha1.MandatoryDecisionGroups{MandatoryDecisionGroups: r.references()}
	switch r.IntN(5) {
	case 0:
		return &clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.All, All: &clusterv1alpha1.RolloutAll{RolloutConfig: config}}
	case 1, 2:
		return &clusterv1alpha1.RolloutStrategy{
			Type: clusterv1alpha1.ProgressivePerGroup,
			ProgressivePerGroup: &clusterv1alpha1.RolloutProgressivePerGroup{
				RolloutConfig: config, MandatoryDecisionGroups: mandatory,
			},
		}
	default:
		return &clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.Progressive, Progressive: &clusterv1alpha1.RolloutProgressive{
			RolloutConfig: config, MandatoryDecisionGroups: mandatory, MaxConcurrency: r.number(),
		}}
	}
}

// withApproval adds a pause or approvals to some strategies.
func (r random) withApproval(s *clusterv1alpha1.RolloutStrategy) *clusterv1alpha1.RolloutStrategy {
	s.Paused = r.chance(10)
	if r.chance(30) {
		s.Approval = &clusterv1alpha1.RolloutApproval{Required: r.references(), Approved: r.references()}
	}
	return s
}

// groups draws groups whose indexes have holes, with clusters of a fleet of a dozen.
func (r random) groups() rollout.Groups {
	out := rollout.Groups{ClustersPerDecisionGroup: r.number()}
	index := 0
	for _, cluster := range r.Perm(12)[:r.IntN(13)] {
		if len(out.Groups) == 0 || r.chance(30) {
			index += r.IntN(3)
			out.Groups = append(out.Groups, decision.Group{GroupKey: decision.GroupKey{Index: index, Name: []string{"", "x", "y"}[r.IntN(3)]}})
			index++
		}
		last := &out.Groups[len(out.Groups)-1]
		last.Clusters = append(last.Clusters, fmt.Sprintf("c%02d", cluster))
	}
	if len(out.Groups) == 0 && r.chance(70) {
		out.Groups = []decision.Group{{}}
	}
	for i := range out.Groups {
		slices.Sort(out.Groups[i].Clusters)
	}
	return out
}

// situation has the arguments of Next.
type situation struct {
	strategy *clusterv1alpha1.RolloutStrategy
	groups   rollout.Groups
	statuses map[string]rollout.Status
	now      time.Time
}

func (s situation) list() []rollout.Status {
	var out []rollout.Status
	for _, status := range s.statuses {
		out = append(out, status)
	}
	return out
}

func (s situation) next() rollout.Step {
	return rollout.Next(s.strategy, s.groups, s.list(), s.now)
}

// tick changes the situation: clusters report, recover or are skipped, time passes, the placement changes.
func (r random) tick(m *situation) {
	m.now = m.now.Add(time.Duration(r.IntN(10)) * time.Minute)
	for cluster, status := range m.statuses {
		if r.chance(60) {
			continue
		}
		switch n := r.IntN(100); {
		case status.State == rollout.StateProgressing && n < 60:
			status.State = rollout.StateSucceeded
		case status.State == rollout.StateProgressing && n < 85:
			status.State = rollout.StateFailed
		case status.State == rollout.StateFailed && n < 20:
			status.State = rollout.StateProgressing
		case n < 3:
			status.State = rollout.StateSkip
		case n < 6:
			status.State = rollout.StateToApply
		case n < 8:
			status.State = rollout.StateTimedOut
		default:
			continue
		}
		status.Since = m.now
		if r.chance(5) {
			status.Since = time.Time{}
		}
		m.statuses[cluster] = status
	}
	if r.chance(10) {
		m.groups = r.groups()
	}
}

// follow calls check at every tick of random histories, before the step is applied.
func follow(t *testing.T, check func(t *testing.T, at string, r random, m situation)) {
	t.Helper()
	for seed := range uint64(histories) {
		r := newRandom(seed)
		m := situation{r.withApproval(r.strategy(false)), r.groups(), map[string]rollout.Status{}, now}
		for tick := range ticks {
			check(t, fmt.Sprintf("seed %d, tick %d", seed, tick), r, m)
			if t.Failed() {
				return
			}
			for _, cluster := range m.next().Apply {
				m.statuses[cluster] = rollout.Status{Cluster: cluster, State: rollout.StateProgressing, Since: m.now}
			}
			r.tick(&m)
		}
	}
}

func TestEveryClusterIsInOneList(t *testing.T) {
	follow(t, func(t *testing.T, at string, _ random, m situation) {
		step := m.next()
		count := map[string]int{}
		for _, list := range [][]string{step.Apply, step.Keep, step.Wait, step.TimedOut, step.Removed} {
			for _, cluster := range list {
				count[cluster]++
			}
		}
		selected := map[string]bool{}
		for _, group := range m.groups.Groups {
			for _, cluster := range group.Clusters {
				selected[cluster] = true
			}
		}
		all := len(selected)
		for cluster := range m.statuses {
			if !selected[cluster] {
				all++
				if contains(step.Removed, cluster) != (len(m.groups.Groups) > 0) {
					t.Errorf("%s: %s is no longer selected, removed: %v", at, cluster, step.Removed)
				}
			}
		}
		for cluster, times := range count {
			if times != 1 || selected[cluster] && contains(step.Removed, cluster) {
				t.Errorf("%s: %s is in %d lists", at, cluster, times)
			}
		}
		if len(count) != all || len(step.Verdicts) != all || step.Total != len(selected) {
			t.Errorf("%s: %d clusters in lists, %d verdicts, %d in total; want %d", at, len(count), len(step.Verdicts), step.Total, all)
		}
	})
}

func TestNoClusterStartsBeyondTheLimit(t *testing.T) {
	follow(t, func(t *testing.T, at string, _ random, m situation) {
		if step := m.next(); len(step.Apply) > 0 && step.InFlight > step.MaxConcurrency {
			t.Errorf("%s: %d start, %d under way then, at most %d may", at, len(step.Apply), step.InFlight, step.MaxConcurrency)
		}
	})
}

func TestEachStepDependsOnItsArgumentsAlone(t *testing.T) {
	follow(t, func(t *testing.T, at string, r random, m situation) {
		first := m.next()
		again := situation{m.strategy.DeepCopy(), m.groups, m.statuses, m.now}
		again.groups.Groups = slices.Clone(m.groups.Groups)
		r.Shuffle(len(again.groups.Groups), func(i, j int) {
			again.groups.Groups[i], again.groups.Groups[j] = again.groups.Groups[j], again.groups.Groups[i]
		})
		if diff := cmp.Diff(first, again.next(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: (-first +again):\n%s", at, diff)
		}
		if diff := cmp.Diff(m.strategy, again.strategy); diff != "" {
			t.Errorf("%s: the strategy was changed: %s", at, diff)
		}
	})
}

// TestSkipNeverBlocks skips one more cluster: all others that would start still start.
func TestSkipNeverBlocks(t *testing.T) {
	follow(t, func(t *testing.T, at string, r random, m situation) {
		before := m.next()
		if before.Total == 0 {
			return
		}
		skipped := before.Verdicts[r.IntN(before.Total)].Cluster
		status, had := m.statuses[skipped]
		m.statuses[skipped] = rollout.Status{Cluster: skipped, State: rollout.StateSkip, Since: m.now}
		after := m.next()
		for _, cluster := range before.Apply {
			if cluster != skipped && !contains(after.Apply, cluster) {
				t.Errorf("%s: with %s left out, %s does not start: %s", at, skipped, cluster, codes(after))
			}
		}
		if before.Phase != rollout.PhaseBreached && after.Phase == rollout.PhaseBreached {
			t.Errorf("%s: leaving out %s breached the rollout", at, skipped)
		}
		delete(m.statuses, skipped)
		if had {
			m.statuses[skipped] = status
		}
	})
}

func TestAStepHasTheInstantOfTheNextChange(t *testing.T) {
	follow(t, func(t *testing.T, at string, _ random, m situation) {
		step := m.next()
		if step.Until.IsZero() {
			return
		}
		if !step.Until.After(m.now) {
			t.Errorf("%s: look again at %s, which is not after %s", at, step.Until, m.now)
		}
		for _, cluster := range step.Apply {
			m.statuses[cluster] = rollout.Status{Cluster: cluster, State: rollout.StateProgressing, Since: m.now}
		}
		then := m.next()
		m.now = step.Until.Add(-time.Nanosecond)
		if diff := cmp.Diff(codes(then), codes(m.next())); diff != "" {
			t.Errorf("%s: changed before %s: %s", at, step.Until, diff)
		}
		for _, cluster := range step.Apply {
			delete(m.statuses, cluster)
		}
	})
}
