package rollouts

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/delivery/plan"
)

// TestADecisionKeepsItsUser: each new decision has the name of its user. A decision that was made before keeps its own.
func TestADecisionKeepsItsUser(t *testing.T) {
	approval := rolloutv1alpha1.GroupApproval{
		MandatoryDecisionGroup: clusterv1alpha1.MandatoryDecisionGroup{GroupName: "canary"}, Placement: "p", Revision: "r",
		For: rolloutv1alpha1.ApprovalStart,
	}
	forgiven := rolloutv1alpha1.ForgivenCluster{Cluster: "a", Revision: "r", Reason: "disk full"}
	spec := &rolloutv1alpha1.RolloutControlSpec{}
	for _, step := range []struct {
		change  ControlChange
		by      string
		changed bool
	}{
		{PauseAll(true, "Friday"), "jane", true},
		{PauseAll(true, "Monday"), "joe", false},
		{AddApprovals([]rolloutv1alpha1.GroupApproval{approval}), "jane", true},
		{AddApprovals([]rolloutv1alpha1.GroupApproval{approval}), "joe", false},
		{AddForgiven([]rolloutv1alpha1.ForgivenCluster{forgiven}), "jane", true},
		{AddForgiven([]rolloutv1alpha1.ForgivenCluster{forgiven}), "joe", false},
	} {
		if got := step.change(spec, step.by); got != step.changed {
			t.Errorf("a change by %s: %v, want %v: %+v", step.by, got, step.changed, spec)
		}
	}
	approval.By, forgiven.By = "jane", "jane"
	want := &rolloutv1alpha1.RolloutControlSpec{
		Paused: true, PausedBy: "jane", PauseReason: "Friday", Approvals: []rolloutv1alpha1.GroupApproval{approval},
		Forgiven: []rolloutv1alpha1.ForgivenCluster{forgiven},
	}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !PauseAll(false, "")(spec, "joe") || spec.Paused || spec.PausedBy != "joe" || spec.PauseReason != "" {
		t.Errorf("resumed: %+v", spec)
	}
	if _, err := TrimReason(strings.Repeat("x", maxReason+1)); err == nil {
		t.Error("a reason without a bound")
	}
}

// TestApproveTakesAGroupThatExists: in the decision or in the strategy; an index is stored as the name that the group has. A mandatory
// group whose start waits for an approval is started first, and passed without a proof only where the rollout stands still for it.
func TestApproveTakesAGroupThatExists(t *testing.T) {
	for sentence, test := range map[string]struct {
		strategy, group, phase string
		want, err              string
	}{
		"by name":                         {strategy: "approval", group: "canary", want: "canary Start"},
		"an index as its name":            {strategy: "approval", group: "0", want: "canary Start"},
		"a group without a name":          {strategy: "approval", group: "1", want: "1 Start"},
		"an unknown name":                 {strategy: "approval", group: "canry", err: `has no group "canry": the groups are 0 (canary), 1`},
		"an unknown index":                {strategy: "approval", group: "7", err: `has no group "7"`},
		"a group that nothing waits for":  {group: "canary", err: `nothing in the set shop/web waits for the group "canary"`},
		"a mandatory group that is gone":  {strategy: "mandatory", group: "pilot", want: "pilot Proof"},
		"a mandatory group, by its index": {strategy: "mandatory", group: "0", want: "canary Proof"},
		"a mandatory group starts first":  {strategy: "mandatory approval", group: "canary", want: "canary Start"},
		"a mandatory group that holds all": {
			strategy: "mandatory approval", group: "canary", phase: "MandatoryGroupUnproven",
			want: "canary Proof",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			set, history := versions(t, "a", "a")
			ref := workv1alpha1.LocalPlacementReference{Name: "p"}
			ref.RolloutStrategy.Type = clusterv1alpha1.Progressive
			if strings.Contains(test.strategy, "approval") {
				ref.RolloutStrategy.Approval = &clusterv1alpha1.RolloutApproval{}
			}
			if strings.Contains(test.strategy, "mandatory") {
				ref.RolloutStrategy.Progressive = &clusterv1alpha1.RolloutProgressive{MandatoryDecisionGroups: clusterv1alpha1.MandatoryDecisionGroups{
					MandatoryDecisionGroups: []clusterv1alpha1.MandatoryDecisionGroup{{GroupName: "canary"}, {GroupName: "pilot"}},
				}}
			}
			set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{ref}
			set.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.Progressing, Status: metav1.ConditionFalse, Reason: test.phase}}
			read := Delivery{Set: set, Placements: map[string]plan.Placement{"p": {Decisions: decision.Of(group(0, "canary"), group(1, ""))}}}
			got, _, err := ApproveGroups(read, "", []string{test.group}, "why")
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("err = %v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			name := got[0].GroupName
			if name == "" {
				name = strconv.Itoa(int(got[0].GroupIndex))
			}
			if text := name + " " + string(got[0].For); text != test.want || got[0].Revision != history[0].Hash || got[0].Reason != "why" ||
				len(got) != 1 {
				t.Errorf("%+v, want %s", got, test.want)
			}
		})
	}
}

// TestApproveInAdvance: a group that nothing waits for yet is named, and a group that has passed is refused with the groups that there are.
func TestApproveInAdvance(t *testing.T) {
	count := func(index, started int32, name string) clusterv1alpha1.GroupRolloutRecord {
		return clusterv1alpha1.GroupRolloutRecord{Index: index, Name: name, Started: started}
	}
	for sentence, test := range map[string]struct {
		group, phase string
		started      []clusterv1alpha1.GroupRolloutRecord
		approved     bool
		finished     bool
		advance, err string
	}{
		"its turn":               {group: "canary", phase: "Unapproved"},
		"the turn of another":    {group: "1", phase: "Unapproved", advance: "1"},
		"its turn after another": {group: "1", phase: "Unapproved", started: []clusterv1alpha1.GroupRolloutRecord{count(0, 1, "canary")}},
		"while another is rolled": {
			group: "1", phase: "Waiting", started: []clusterv1alpha1.GroupRolloutRecord{count(0, 1, "canary")},
			advance: "1",
		},
		"it has started": {
			group: "0", phase: "Waiting", started: []clusterv1alpha1.GroupRolloutRecord{count(0, 1, "canary")},
			err: "has passed. The groups are 0 (canary), 1",
		},
		"it was approved, started": {
			group: "0", phase: "Waiting", started: []clusterv1alpha1.GroupRolloutRecord{count(0, 1, "canary")},
			approved: true,
		},
		"the rollout has finished": {group: "1", phase: "Finished", finished: true, err: "has passed. The groups are 0 (canary), 1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			set, history := versions(t, "a", "a")
			ref := workv1alpha1.LocalPlacementReference{Name: "p"}
			ref.RolloutStrategy.Type, ref.RolloutStrategy.Approval = clusterv1alpha1.Progressive, &clusterv1alpha1.RolloutApproval{}
			set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{ref}
			set.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.Progressing, Reason: test.phase, ObservedGeneration: set.Generation}}
			set.Status.Rollout = &clusterv1alpha1.RolloutRecord{
				Revision: history[0].Hash, Placements: []clusterv1alpha1.PlacementRolloutRecord{{Name: "p", Groups: test.started}},
			}
			if test.finished {
				set.Status.Rollout.FinishedTime = &metav1.MicroTime{}
			}
			read := Delivery{Set: set, Placements: map[string]plan.Placement{"p": {Decisions: decision.Of(group(0, "canary"), group(1, ""))}}}
			if test.approved {
				read.Control = &rolloutv1alpha1.RolloutControl{Spec: rolloutv1alpha1.RolloutControlSpec{Approvals: []rolloutv1alpha1.GroupApproval{{
					MandatoryDecisionGroup: clusterv1alpha1.MandatoryDecisionGroup{GroupName: "canary"}, Placement: "p", Revision: history[0].Hash,
					For: rolloutv1alpha1.ApprovalStart,
				}}}}
			}
			_, advance, err := ApproveGroups(read, "", []string{test.group}, "why")
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("err = %v, want %q", err, test.err)
				}
				return
			}
			if err != nil || strings.Join(advance, " ") != test.advance {
				t.Errorf("%q in advance, %v; want %q", advance, err, test.advance)
			}
		})
	}
}

// group returns the slice of a group with one cluster.
func group(index int, name string) *clusterv1beta1.PlacementDecision {
	out := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p-%d", index), Labels: map[string]string{
		clusterv1beta1.PlacementLabel: "p", clusterv1beta1.DecisionGroupIndexLabel: strconv.Itoa(index),
		clusterv1beta1.DecisionGroupNameLabel: name,
	}}}
	out.Status.Decisions = []clusterv1beta1.ClusterDecision{{ClusterName: fmt.Sprintf("c%d", index)}}
	return out
}
