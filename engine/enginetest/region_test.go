package enginetest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// threeRegions is a hub with 67 clusters in eu, 67 in us and 66 in ap, and a placement that selects twelve.
type threeRegions struct {
	*testing.T

	state *enginetest.State
	moves int
}

func newThreeRegions(t *testing.T, p *enginetest.PlacementBuilder) *threeRegions {
	t.Helper()
	r := &threeRegions{T: t, state: enginetest.NewState(p.Number(12).Obj(), enginetest.Set("all").Obj()).Bind("ns", "all")}
	for i := range 200 {
		region := []string{"eu", "us", "ap"}[i%3]
		r.state.Add(enginetest.Cluster(fmt.Sprintf("%s-%02d", region, i/3)).In("all").Label("region", region).Obj())
	}
	r.decide()
	r.moves = 0
	return r
}

// overRegions is a placement with a spread constraint over regions.
func overRegions(hard bool) *enginetest.PlacementBuilder {
	return enginetest.Placement("ns", "p").Even(label, "region", 1, hard)
}

// decide decides and stores, and counts the clusters that leave.
func (r *threeRegions) decide() *engine.Result {
	r.Helper()
	key := fleet.Key{Namespace: "ns", Name: "p"}
	before := union(r.state, key)
	result := enginetest.Decide(r.T, r.state)
	for _, name := range result.Clusters() {
		delete(before, name)
	}
	r.moves += len(before)
	for _, write := range plan.Diff(result, r.state.Stored(key), r.state.Now).Writes {
		r.state.Apply(write)
	}
	return result
}

// selected returns the number of selected clusters of each region, such as "ap 4, eu 4, us 4".
func (r *threeRegions) selected(result *engine.Result) string {
	count := map[string]int{}
	for _, name := range result.Clusters() {
		count[r.state.Clusters[name].Labels["region"]]++
	}
	var out []string
	for _, region := range sorted(count) {
		out = append(out, fmt.Sprintf("%s %d", region, count[region]))
	}
	return strings.Join(out, ", ")
}

// taint adds a taint to clusters, or removes it.
func (r *threeRegions) taint(taints []clusterv1.Taint, clusters ...string) {
	for _, name := range clusters {
		changed := r.state.Clusters[name].DeepCopy()
		changed.Spec.Taints = taints
		r.state.Add(changed)
	}
}

// clusters returns the clusters of a region.
func (r *threeRegions) clusters(region string) []string {
	return slices.DeleteFunc(sorted(r.state.Clusters), func(name string) bool { return r.state.Clusters[name].Labels["region"] != region })
}

// loseEurope makes all clusters of eu unreachable.
func (r *threeRegions) loseEurope() {
	r.taint([]clusterv1.Taint{{Key: "unreachable", Effect: clusterv1.TaintEffectNoSelect}}, r.clusters("eu")...)
}

func TestARegionThatAppearsTakesNoClusterWithoutTakingItsPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		placement *enginetest.PlacementBuilder
		want      string
		moves     int
		exceeded  string
	}{
		"DoNotSchedule": {
			overRegions(true), "ap 4, eu 4, ue 1, us 3", 1,
			`spread over label region exceeds maxSkew 1: "ap" has 4, "eu" has 4, "us" has 3, and the fewest, 1, are in "ue". ` +
				"Selected ManagedClusters leave for that only if a replacement is selected, and a domain that exceeds maxSkew gets no more",
		},
		"ScheduleAnyway":                   {overRegions(false), "ap 4, eu 4, ue 1, us 3", 1, ""},
		"DoNotSchedule with a budget of 1": {overRegions(true).Budget("1", 0), "ap 4, eu 4, ue 1, us 3", 1, "-"},
		"DoNotSchedule with a budget of 0": {overRegions(true).Budget("0", 0), "ap 4, eu 4, us 4", 0, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newThreeRegions(t, tc.placement)
			r.state.Add(enginetest.Cluster("us-60").In("all").Label("region", "ue").Obj()) // a slip: us-60 is not selected
			result := r.decide()
			if got := r.selected(result); got != tc.want || r.moves != tc.moves {
				t.Errorf("selected %s after %d moves, want %s after %d", got, r.moves, tc.want, tc.moves)
			}
			if got := result.Satisfied.Reason; got != clusterv1beta1.ReasonAllDecisionsScheduled {
				t.Errorf("PlacementSatisfied has the reason %s", got)
			}
			r.checkExceeded(result, tc.exceeded)
			r.state.Add(enginetest.Cluster("us-60").In("all").Label("region", "us").Obj())
			result = r.decide()
			if got := r.selected(result); got != "ap 4, eu 4, us 4" {
				t.Errorf("selected %s once the label is right", got)
			}
			r.checkExceeded(result, "")
		})
	}
}

// checkExceeded checks SpreadExceeded in the result and in the status: want is its message, "-" any, and empty for False or absent.
func (r *threeRegions) checkExceeded(result *engine.Result, want string) {
	r.Helper()
	if got := result.SpreadExceeded; want != "-" && want != "" && got.Message != want {
		r.Errorf("SpreadExceeded is %q, want %q", got.Message, want)
	}
	placement := r.state.Placements[fleet.Key{Namespace: "ns", Name: "p"}]
	if got := meta.IsStatusConditionTrue(placement.Status.Conditions, clusterv1beta1.PlacementConditionSpreadExceeded); got != (want != "") {
		r.Errorf("SpreadExceeded is %v in the status, want %v", got, want != "")
	}
}

func TestARegionThatReturnsGetsItsShareClusterByCluster(t *testing.T) {
	for name, placement := range map[string]*enginetest.PlacementBuilder{
		"without a policy": overRegions(true), "with a budget": overRegions(true).Budget("1", time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			r := newThreeRegions(t, placement)
			r.loseEurope()
			for range 10 {
				r.state.Now = r.state.Now.Add(time.Minute)
				r.decide()
			}
			r.moves = 0
			for i, cluster := range r.clusters("eu") {
				r.state.Now = r.state.Now.Add(time.Minute)
				r.taint(nil, cluster)
				before := r.moves
				result := r.decide()
				if result.Selected != 12 || r.moves-before > 1 {
					t.Errorf("%d clusters of eu are back: %d selected after %d moves: %s", i+1, result.Selected, r.moves-before, r.selected(result))
				}
				share := min(i+1, 4)
				if got, want := strings.Contains(r.selected(result), fmt.Sprintf("eu %d", share)), true; got != want {
					t.Errorf("%d clusters of eu are back: selected %s, want %d of eu", i+1, r.selected(result), share)
				}
				r.checkExceeded(result, []string{"", "-"}[min(1, max(0, 3-i))])
			}
			if r.moves != 4 {
				t.Errorf("%d clusters left while eu returned, want 4", r.moves)
			}
		})
	}
}

func TestARegionThatReturnsAtOnceMovesItsShareOnly(t *testing.T) {
	r := newThreeRegions(t, overRegions(true))
	r.loseEurope()
	if got := r.selected(r.decide()); got != "ap 6, us 6" {
		t.Fatalf("selected %s without eu", got)
	}
	r.moves = 0
	r.taint(nil, r.clusters("eu")...)
	if got := r.selected(r.decide()); got != "ap 4, eu 4, us 4" || r.moves != 4 {
		t.Errorf("selected %s after %d moves, want 4 of each after 4", got, r.moves)
	}
}

// TestARegionOfAnEarlierTierThatReturnsWaitsBeforeItGetsItsShare tests that the rule of fail-back holds beside a hard constraint.
func TestARegionOfAnEarlierTierThatReturnsWaitsBeforeItGetsItsShare(t *testing.T) {
	r := newThreeRegions(t, overRegions(true).Failback(300).TierOf("others"))
	home := clusterv1beta1.ClusterTier{
		Name: "home", ClusterSelector: clusterv1beta1.ClusterSelector{LabelSelector: enginetest.LabelIs("region", "eu")},
	}
	spec := &r.state.Placements[fleet.Key{Namespace: "ns", Name: "p"}].Spec
	spec.Tiers = slices.Insert(spec.Tiers, 0, home)
	r.loseEurope()
	r.decide()
	r.moves = 0
	r.taint(nil, r.clusters("eu")...)
	if got := r.selected(r.decide()); got != "ap 6, us 6" || r.moves != 0 {
		t.Errorf("selected %s after %d moves while eu waits, want no move", got, r.moves)
	}
	r.state.Now = r.state.Now.Add(300 * time.Second)
	if got := r.selected(r.decide()); got != "ap 4, eu 4, us 4" || r.moves != 4 {
		t.Errorf("selected %s after %d moves once eu has waited, want 4 of each after 4", got, r.moves)
	}
}

// TestAnEditOfTheSpreadTakesNoClusterWithoutAReplacement tests that a constraint limits new choices, also when it is new.
func TestAnEditOfTheSpreadTakesNoClusterWithoutAReplacement(t *testing.T) {
	r := newThreeRegions(t, enginetest.Placement("ns", "p"))
	if got := r.selected(r.decide()); got != "ap 12" {
		t.Fatalf("selected %s by name", got)
	}
	for _, region := range []string{"eu", "us"} {
		r.taint([]clusterv1.Taint{{Key: "down", Effect: clusterv1.TaintEffectNoSelect}}, r.clusters(region)[1:]...)
	}
	r.state.Add(overRegions(true).Number(12).Obj())
	if got := r.selected(r.decide()); got != "ap 10, eu 1, us 1" {
		t.Errorf("selected %s, want the two clusters that can replace one, and no fewer", got)
	}
	if got := r.selected(r.decide()); got != "ap 10, eu 1, us 1" {
		t.Errorf("selected %s when decided again", got)
	}
}

// TestAReleasedClusterIsReplacedInADomainWhoseOtherClustersAreHeld tests that held clusters count for what their domain may keep.
func TestAReleasedClusterIsReplacedInADomainWhoseOtherClustersAreHeld(t *testing.T) {
	p := overRegions(true).Number(6).Mode(clusterv1beta1.PrioritizerPolicyModeExact).
		BuiltIn(clusterv1beta1.PrioritizerResourceAllocatableCPU, 1).Budget("1", time.Hour).Decided().Held(enginetest.Epoch.Add(-time.Hour),
		"us-3")
	w := enginetest.NewState(p.Obj(), enginetest.Set("all").Obj(),
		enginetest.Slice("ns", "p", 1, "ap-1", "us-1", "us-2", "us-3", "us-4", "us-5").Obj()).
		Bind("ns", "all")
	for name, cpu := range map[string]string{"ap-1": "5", "us-1": "9", "us-2": "8", "us-3": "2", "us-new": "7"} {
		w.Add(in(name).Label("region", name[:2]).CPU(cpu).Obj())
	}
	for _, name := range []string{"us-4", "us-5"} {
		w.Add(in(name).Label("region", "us").CPU("1").Taint("down", clusterv1.TaintEffectNoSelect, enginetest.Epoch).Obj())
	}
	got := enginetest.Decide(t, w).Clusters()
	slices.Sort(got)
	if want := []string{"ap-1", "us-1", "us-2", "us-4", "us-5", "us-new"}; !slices.Equal(got, want) {
		t.Errorf("selected %v, want %v", got, want)
	}
}
