package rollout_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/rollout"
)

// TestStrategiesThatCannotBeFollowed tests the errors of invalid strategies, and that no cluster starts or times out.
func TestStrategiesThatCannotBeFollowed(t *testing.T) {
	const number = `must be a number from 0, such as 3, or a percentage from 0% to 100%, such as "10%"`
	const duration = `must be a duration with a unit, such as "30m" or "1h30m", or "None"`
	cases := map[string]struct {
		strategy string
		want     []string
	}{
		"an unknown type": {
			`{type: Canary}`,
			[]string{`s.type: Unsupported value: "Canary": supported values: "All", "Progressive", "ProgressivePerGroup"`},
		},
		"a deadline without a unit": {
			`{type: All, all: {progressDeadline: "10"}}`,
			[]string{`s.all.progressDeadline: Invalid value: "10": ` + duration},
		},
		"a deadline of 0":       {`{all: {progressDeadline: "0"}}`, []string{`s.all.progressDeadline: Invalid value: "0": ` + duration}},
		"a deadline in pipes":   {`{all: {progressDeadline: "5|"}}`, []string{`s.all.progressDeadline: Invalid value: "5|": ` + duration}},
		"a deadline before now": {`{all: {progressDeadline: "-5m"}}`, []string{`s.all.progressDeadline: Invalid value: "-5m": ` + duration}},
		"a deadline with a tail": {
			`{all: {progressDeadline: "5m soon"}}`,
			[]string{`s.all.progressDeadline: Invalid value: "5m soon": ` + duration},
		},
		"a negative minSuccessTime": {
			`{type: Progressive, progressive: {minSuccessTime: -1m}}`,
			[]string{`s.progressive.minSuccessTime: Invalid value: "-1m0s": must not be negative; write 0 to continue at once`},
		},
		"fewer failures than none": {
			`{type: ProgressivePerGroup, progressivePerGroup: {maxFailures: -1}}`,
			[]string{`s.progressivePerGroup.maxFailures: Invalid value: -1: ` + number},
		},
		"everything at once": {
			`{type: Progressive, progressive: {progressDeadline: 1m, maxConcurrency: some, maxFailures: 101%, mandatoryDecisionGroups: [{groupName: a}, {groupIndex: -1}]}}`, []string{
				`s.progressive.maxFailures: Invalid value: "101%": ` + number,
				`s.progressive.mandatoryDecisionGroups[1].groupIndex: Invalid value: -1: must be 0 or more; groups are counted from 0`,
				`s.progressive.maxConcurrency: Invalid value: "some": ` + number,
			},
		},
		"a number that is too large": {
			`{type: Progressive, progressive: {maxConcurrency: "99999999999"}}`,
			[]string{`s.progressive.maxConcurrency: Invalid value: "99999999999": ` + number},
		},
		"approval for no group": {`{approval: {required: [{groupIndex: -2}], approved: [{groupIndex: -3}]}}`, []string{
			`s.approval.required[0].groupIndex: Invalid value: -2: must be 0 or more; groups are counted from 0`,
			`s.approval.approved[0].groupIndex: Invalid value: -3: must be 0 or more; groups are counted from 0`,
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := strategy(t, tc.strategy)
			var got []string
			for _, err := range rollout.Validate(s, field.NewPath("s")) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			step := rollout.Next(s, groups(t, "0:a,b 1:c"), statuses(t, "a=Succeeded b=Progressing@9h d=Failed"), now)
			want := want{phase: rollout.PhaseMisconfigured, keep: "a b", wait: "c", remove: "d"}
			if diff := cmp.Diff(want, wantOf(step), cmp.AllowUnexported(want)); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
			if len(step.Errors) != len(tc.want) || !strings.HasPrefix(step.Message(), "The strategy is invalid: ") {
				t.Errorf("errors %v, message %q", step.Errors, step.Message())
			}
		})
	}
}

func TestASizeThatCannotBeRead(t *testing.T) {
	step := rollout.Next(nil, groups(t, "size=many 0:a"), nil, now)
	if step.Phase != rollout.PhaseMisconfigured || len(step.Errors) != 1 ||
		!strings.HasPrefix(step.Errors[0].Error(), `clustersPerDecisionGroup: Invalid value: "many": `) {
		t.Errorf("got %s, %v", step.Phase, step.Errors)
	}
}

func TestNoStrategyIsTypeAll(t *testing.T) {
	if step := rollout.Next(nil, groups(t, "0:a,b"), nil, now); !slices.Equal(step.Apply, []string{"a", "b"}) ||
		rollout.Validate(nil, nil) != nil {
		t.Errorf("got %+v", step)
	}
}

// TestVerdicts has a case for each code, with its text and the message of the step.
func TestVerdicts(t *testing.T) {
	const progressive = `type: Progressive, progressive: {maxConcurrency: 2, maxFailures: 2, minSuccessTime: 5m, progressDeadline: 10m, mandatoryDecisionGroups: [{groupName: qa}]}`
	cases := map[string]struct{ strategy, groups, statuses, codes, last, message string }{
		"under way": {
			progressive, "0:a,b,c,d,e,f,g", "a=Succeeded@1m b=Succeeded@9m c=Failed@1m d=TimedOut e=Skip f=Progressing",
			"a=Soaking b=Done c=Failing d=TimedOut e=Skipped f=UnderWay g=WaitsForPlace", "maxConcurrency is reached: 2 of 2",
			"2 clusters under way, 1 to start",
		},
		"one starts": {
			progressive, "0:a,b", "a=Progressing", "a=UnderWay b=Starting", "gets the change now",
			"Starting 1 cluster, 2 of 2 under way then",
		},
		"an open group": {
			progressive, "0:a 1/qa:b", "b=Progressing", "b=UnderWay a=WaitsForGroup", "group 1 (qa) is not done",
			"1 cluster under way, 1 to start",
		},
		"soaking": {
			progressive, "0:a", "a=Succeeded", "a=Soaking", "succeeded, minSuccessTime has not passed",
			"1 cluster soaking, 0 to start",
		},
		"breached": {
			progressive, "0:a,b,c,d", "a=TimedOut b=TimedOut c=Failed", "a=TimedOut b=TimedOut c=Failing d=WaitsForRepair",
			"3 clusters failed, more than maxFailures allows", "3 clusters of 4 failed, more than maxFailures allows: no more clusters start",
		},
		"paused": {`paused: true`, "0:a", "", "a=WaitsForResume", "the rollout is paused", "Paused with 1 cluster to start"},
		"unapproved": {
			`approval: {}`, "0:a 3/x:b", "", "a=WaitsForApproval b=WaitsForApproval", "group 3 (x) is not approved",
			"Group 0 waits for approval, with 2 clusters to start",
		},
		"finished": {progressive, "0:a", "a=Succeeded@9m", "a=Done", "has the change", "Rolled out to 1 cluster"},
		"finished partly": {
			progressive, "0:a,b", "a=Skip b=TimedOut", "a=Skipped b=TimedOut", "the deadline has passed",
			"No cluster succeeded: 1 of 2 clusters failed",
		},
		"failed": {
			progressive, "0:a,b,c", "a=TimedOut b=TimedOut c=TimedOut", "a=TimedOut b=TimedOut c=TimedOut",
			"the deadline has passed", "3 clusters of 3 failed, more than maxFailures allows, and none is left to start",
		},
		"finished within": {
			progressive, "0:a,b", "a=Succeeded@9m b=TimedOut", "a=Done b=TimedOut", "the deadline has passed",
			"Rolled out to 1 of 2 clusters, 1 failed",
		},
		"undecided": {
			progressive, "", "a=Succeeded", "a=WaitsForDecision", "the placement has decided nothing yet",
			"The placement has decided nothing yet",
		},
		"one left": {
			progressive, "0:", "b=Succeeded", "b=Left", "is no longer selected",
			"The placement selects no cluster, so there is nothing to roll out",
		},
	}
	seen := map[rollout.Code]bool{rollout.WaitsForStrategy: true, rollout.WaitsForProof: true} // TestEvidence shows the latter
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			step := rollout.Next(strategy(t, "{"+tc.strategy+"}"), groups(t, tc.groups), statuses(t, tc.statuses), now)
			last := step.Verdicts[len(step.Verdicts)-1]
			if got := codes(step); got != tc.codes {
				t.Errorf("codes %s, want %s", got, tc.codes)
			}
			if got := step.Explain(last); got != tc.last {
				t.Errorf("%s: %q, want %q", last.Cluster, got, tc.last)
			}
			if got := step.Message(); got != tc.message {
				t.Errorf("message %q, want %q", got, tc.message)
			}
			for _, v := range step.Verdicts {
				seen[v.Code] = true
			}
		})
	}
	for _, code := range rollout.Codes() {
		if !seen[code] {
			t.Errorf("no case shows %s", code)
		}
	}
}

// TestUnmatched tests that a misspelt group is reported once and blocks nothing.
func TestUnmatched(t *testing.T) {
	s := strategy(t,
		`{type: Progressive, progressive: {mandatoryDecisionGroups: [{groupName: canray}, {groupIndex: 7}, {groupName: canray}, {groupName: qa}]},
		approval: {required: [{groupName: prood}], approved: [{groupIndex: 7}]}}`)
	step := rollout.Next(s, groups(t, "0:a 1/qa:b"), statuses(t, "b=Succeeded"), now)
	want := []clusterv1alpha1.MandatoryDecisionGroup{{GroupName: "canray"}, {GroupIndex: 7}, {GroupName: "prood"}}
	if diff := cmp.Diff(want, step.Unmatched); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !slices.Equal(step.Apply, []string{"a"}) {
		t.Errorf("%v start, want a", step.Apply)
	}
	if got := rollout.Reference(want[0]) + ", " + rollout.Reference(want[1]); got != "groupName canray, groupIndex 7" {
		t.Errorf("references %q", got)
	}
}

func TestRequeueAfter(t *testing.T) {
	for want, until := range map[time.Duration]time.Time{0: {}, time.Minute: now.Add(time.Minute), 1: now.Add(-time.Hour)} {
		if got := (rollout.Step{Until: until}).RequeueAfter(now); got != want {
			t.Errorf("until %v: %v, want %v", until, got, want)
		}
	}
}

func TestGroupsOf(t *testing.T) {
	placement := &clusterv1beta1.Placement{}
	placement.Spec.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup = intstr.FromInt32(2)
	decisions, err := decision.FromLister(oneSlice{"b", "a"}, "web")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(groups(t, "size=2 0:a,b"), rollout.GroupsOf(decisions, placement)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
