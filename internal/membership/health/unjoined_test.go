package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// sliceOf returns a slice with some clusters.
func sliceOf(clusters ...string) *clusterv1beta1.PlacementDecision {
	out := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p-decision-1"}}
	for _, name := range clusters {
		out.Status.Decisions = append(out.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: name})
	}
	return out
}

// inventory is a cluster of each kind: healthy, never reported, accepted and never reported, not accepted and never reported,
// denied, denied before it ever reported.
func inventory(further ...client.Object) []client.Object {
	return append([]client.Object{
		healthyCluster("healthy").Obj(), lease("healthy", 0), cluster("silent").Obj(), cluster("accepted").condition(accepted, "True").Obj(),
		cluster("pending").notAccepted().Obj(), healthyCluster("denied").notAccepted().Obj(), lease("denied", 0),
		cluster("refused").condition(accepted, "False").notAccepted().Obj(),
	}, further...)
}

func inventoryNames() []string {
	return []string{"healthy", "silent", "accepted", "pending", "denied", "refused"}
}

// taints returns the taints of each cluster of an inventory.
func (l *loop) taints(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range inventoryNames() {
		stored := &clusterv1.ManagedCluster{}
		if err := l.client.Get(t.Context(), client.ObjectKey{Name: name}, stored); err != nil {
			t.Fatal(err)
		}
		out[name] = taintText(stored.Spec.Taints)
	}
	return out
}

// storedUnjoined returns the condition of the set `global` about clusters that never joined.
func (l *loop) storedUnjoined(t *testing.T) string {
	t.Helper()
	set := &clusterv1beta2.ManagedClusterSet{}
	if err := l.client.Get(t.Context(), client.ObjectKey{Name: "global"}, set); err != nil {
		t.Fatal(err)
	}
	found := findUnjoined(set)
	if found == nil {
		return "nothing"
	}
	return string(found.Status) + " " + found.Reason + ": " + found.Message
}

// TestClustersThatNeverJoined starts the controller with each value of the flag and several states of the hub.
func TestClustersThatNeverJoined(t *testing.T) {
	const (
		all = "True TaintUnjoined: ManagedClusters that never joined are tainted unreachable, and those that are " +
			"denied berth-project.io/denied"
		reported = "False TaintReportedOnly: Only ManagedClusters that an agent has reported are tainted: the manager runs " +
			"with --taint-unjoined=false"
		rest = ". No such cluster is tainted, because a taint would evict them. Annotate, accept or delete them, or run the manager with " +
			"--taint-unjoined or --taint-unjoined=false"
		one = "False UnjoinedClustersSelected: Placements have selected 1 ManagedClusters that never joined or are denied: "
	)
	tainted := map[string]string{
		"healthy": "none", "silent": "unreachable since 0s", "accepted": "unreachable since 0s",
		"pending": "unreachable since 0s", "denied": "denied since 0s", "refused": "unreachable since 0s, denied since 0s",
	}
	alone := map[string]string{"healthy": "none", "silent": "none", "accepted": "none", "pending": "none", "denied": "none", "refused": "none"}
	onlyReported := map[string]string{
		"healthy": "none", "silent": "none", "accepted": "none", "pending": "none", "denied": "denied since 0s",
		"refused": "none",
	}
	before := func(status metav1.ConditionStatus) *clusterv1beta2.ManagedClusterSet {
		out := globalSet()
		out.Status.Conditions = append(out.Status.Conditions, metav1.Condition{
			Type: clusterv1beta2.ManagedClusterSetConditionUnjoinedTainted, Status: status, Reason: "Before",
			LastTransitionTime: metav1.NewTime(noon),
		})
		return out
	}
	for sentence, test := range map[string]struct {
		flag      Unjoined
		set       *clusterv1beta2.ManagedClusterSet
		decisions *clusterv1beta1.PlacementDecision
		want      map[string]string
		reported  string
	}{
		"no flag, no such cluster is selected": {TaintUnlessSelected, globalSet(), sliceOf("healthy"), tainted, all},
		"no flag, a cluster that never reported is selected": {
			TaintUnlessSelected, globalSet(), sliceOf("healthy", "silent"), alone,
			one + "silent" + rest,
		},
		"no flag, an accepted cluster is selected": {
			TaintUnlessSelected, globalSet(), sliceOf("accepted"), alone,
			one + "accepted" + rest,
		},
		"no flag, a denied cluster is selected": {
			TaintUnlessSelected, globalSet(), sliceOf("denied"), alone,
			one + "denied" + rest,
		},
		"no flag, tainted before": {TaintUnlessSelected, before("True"), sliceOf("silent"), tainted, all},
		"no flag, held before": {
			TaintUnlessSelected, before("False"), sliceOf("silent"), alone,
			one + "silent" + rest,
		},
		"no flag, held before, no such cluster is selected now": {TaintUnlessSelected, before("False"), sliceOf(), tainted, all},
		"flag true":                  {TaintUnjoined, globalSet(), sliceOf("silent"), tainted, all},
		"flag false":                 {TaintReportedOnly, globalSet(), sliceOf("silent"), onlyReported, "nothing"},
		"flag false, tainted before": {TaintReportedOnly, before("True"), sliceOf("silent"), onlyReported, reported},
		"flag false, false before":   {TaintReportedOnly, before("False"), sliceOf("silent"), onlyReported, reported},
	} {
		t.Run(sentence, func(t *testing.T) {
			l := newLoop(t, interceptor.Funcs{}, inventory(test.set, test.decisions)...)
			l.unjoined = test.flag
			for range 3 {
				l.decideAll(t, inventoryNames()...)
			}
			if diff := cmp.Diff(test.want, l.taints(t)); diff != "" {
				t.Errorf("taints (-want +got):\n%s", diff)
			}
			if got := l.storedUnjoined(t); got != test.reported {
				t.Errorf("the set reports %s, want %s", got, test.reported)
			}
			writes := l.writes
			l.start(l.client, nil) // a restart
			l.unjoined = test.flag
			l.show(t)
			l.cache.start(l.clock.Now())
			for range 2 {
				l.decideAll(t, inventoryNames()...)
			}
			if diff := cmp.Diff(test.want, l.taints(t)); diff != "" || l.writes != writes {
				t.Errorf("a restart writes %d times, taints (-want +got):\n%s", l.writes-writes, diff)
			}
		})
	}
}

// TestTheConditionNamesTenClusters and counts the others.
func TestTheConditionNamesTenClusters(t *testing.T) {
	var state unjoinedState
	for i := range 12 {
		state.selected = append(state.selected, fmt.Sprintf("c%02d", i))
	}
	want := "Placements have selected 12 ManagedClusters that never joined or are denied: c00, c01, c02, c03, c04, c05, c06, " +
		"c07, c08, c09 and 2 more. "
	if got := state.condition().Message; len(got) < len(want) || got[:len(want)] != want {
		t.Errorf("message %s", got)
	}
}

// TestReportedOnlyRemovesTaints: the taints from before the flag are removed once. The stored condition changes only after that.
func TestReportedOnlyRemovesTaints(t *testing.T) {
	l := newLoop(t, interceptor.Funcs{}, inventory(globalSet())...)
	l.unjoined = TaintUnjoined
	l.decideAll(t, inventoryNames()...)
	l.decideAll(t, inventoryNames()...)
	restart := func() {
		l.start(l.client, nil)
		l.unjoined = TaintReportedOnly
		l.show(t)
		l.cache.start(l.clock.Now())
		l.decideAll(t)
	}
	restart()
	l.decideAll(t, "silent")
	if got := l.storedUnjoined(t); got[:4] != "True" {
		t.Errorf("one of three taints is removed, and the set reports %s", got)
	}
	restart()
	for range 2 {
		l.decideAll(t, inventoryNames()...)
	}
	want := map[string]string{
		"healthy": "none", "silent": "none", "accepted": "none", "pending": "none", "denied": "denied since 0s",
		"refused": "none",
	}
	if diff := cmp.Diff(want, l.taints(t)); diff != "" || l.storedUnjoined(t)[:5] != "False" {
		t.Errorf("the set reports %s, taints (-want +got):\n%s", l.storedUnjoined(t), diff)
	}
	l.edit(t, "silent", func(b builder) { b.tainted(since(unreachable, 0)) }) // by another controller
	l.decideAll(t, "silent")
	if got := l.taints(t)["silent"]; got != "unreachable since 0s" {
		t.Errorf("a taint that another controller added later is removed: %s", got)
	}
}

// TestAcceptingRemovesTheTaint: accepting a cluster removes the taint of denied clusters, and a report removes the taint of clusters
// that never joined. Both hold while other clusters are not tainted because a placement selected them.
func TestAcceptingRemovesTheTaint(t *testing.T) {
	l := newLoop(t, interceptor.Funcs{}, inventory(globalSet())...)
	l.unjoined = TaintUnjoined
	l.decideAll(t, inventoryNames()...)
	l.decideAll(t, inventoryNames()...)
	l.edit(t, "denied", func(b builder) { b.Spec.HubAcceptsClient = true })
	l.edit(t, "silent", func(b builder) { b.condition(available, "True") })
	l.decideAll(t, "denied", "silent")
	got := l.taints(t)
	if got["denied"] != "none" || got["silent"] != "none" {
		t.Errorf("accepted: %s, reported: %s", got["denied"], got["silent"])
	}
	l.edit(t, "denied", func(b builder) { b.Spec.HubAcceptsClient = false })
	l.decideAll(t, "denied")
	if got := l.taints(t)["denied"]; got != "denied since 0s" {
		t.Errorf("denied again: %s", got)
	}
}

// TestPlacementsWaitForTheFirstTaints: the end of the first pass is reported as soon as every cluster is tainted. It is reported at once
// if no cluster is tainted.
func TestPlacementsWaitForTheFirstTaints(t *testing.T) {
	over := func(tainted chan struct{}) bool {
		select {
		case <-tainted:
			return true
		default:
			return false
		}
	}
	for sentence, test := range map[string]struct {
		flag      Unjoined
		decisions *clusterv1beta1.PlacementDecision
		waits     bool
	}{
		"clusters are tainted":          {TaintUnlessSelected, sliceOf("healthy"), true},
		"a taint would evict":           {TaintUnlessSelected, sliceOf("silent"), false},
		"flag false":                    {TaintReportedOnly, sliceOf("silent"), false},
		"flag true, and a taint evicts": {TaintUnjoined, sliceOf("silent"), true},
	} {
		t.Run(sentence, func(t *testing.T) {
			l := newLoop(t, interceptor.Funcs{}, inventory(globalSet(), test.decisions)...)
			tainted := make(chan struct{})
			l.unjoined, l.tainted = test.flag, tainted
			l.decideAll(t)
			if got := over(tainted); got == test.waits {
				t.Errorf("no cluster is reconciled, and the first pass is over: %t", got)
			}
			names := inventoryNames()
			l.decideAll(t, slices.Clip(names[:len(names)-1])...)
			l.decideAll(t)
			if got := over(tainted); got == test.waits {
				t.Errorf("one cluster is not reconciled, and the first pass is over: %t", got)
			}
			l.decideAll(t, names...)
			l.decideAll(t)
			if !over(tainted) {
				t.Error("every cluster is reconciled, and the first pass is not over")
			}
		})
	}
}

// TestNoTaintBeforeTheDecisionsAreRead: no taint changes while the decisions cannot be read.
func TestNoTaintBeforeTheDecisionsAreRead(t *testing.T) {
	failing := true
	l := newLoop(t, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList,
		opts ...client.ListOption,
	) error {
		if _, ok := list.(*clusterv1beta1.PlacementDecisionList); ok && failing {
			return errBoom
		}
		return c.List(ctx, list, opts...)
	}}, inventory(globalSet())...)
	l.unjoined = TaintUnlessSelected
	if _, err := l.run(t, fleetRequest); !errors.Is(err, errBoom) {
		t.Errorf("error %v, want %v", err, errBoom)
	}
	for _, name := range inventoryNames() {
		if _, err := l.run(t, name); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{"healthy": "none", "silent": "none", "accepted": "none", "pending": "none", "denied": "none", "refused": "none"}
	if diff := cmp.Diff(want, l.taints(t)); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
	failing = false
	l.clock.SetTime(noon.Add(time.Second))
	l.decideAll(t, "silent")
	l.decideAll(t, "silent")
	if got := l.taints(t)["silent"]; got == "none" {
		t.Error("the decisions are read, and a cluster that never reported is not tainted")
	}
}
