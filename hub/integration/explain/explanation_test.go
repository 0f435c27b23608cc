package explain

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestExplanationMatchesTheSlices follows a placement through several changes. After each change, the explanation selects the clusters in
// the slices, and has a reason for every other cluster.
func TestExplanationMatchesTheSlices(t *testing.T) {
	m := sharedManager(t)
	f := newFleet(t, 6)
	f.awaitSeen(m)
	f.placement("p", kit.Number(2), within("a", "b"))
	const mismatch = "Mismatch: not label region in (a, b)"
	const beaten = "Beaten: others rank higher; the last selected has score 100"
	check := func(of explain.Explanation, want ...string) {
		t.Helper()
		expected := map[string]string{}
		for i, verdict := range want {
			expected[f.name(i)] = verdict
		}
		got := verdicts(of)
		for name := range got {
			if !strings.HasPrefix(name, f.namespace) {
				delete(got, name)
			}
		}
		if diff := cmp.Diff(expected, got); diff != "" {
			t.Errorf("verdicts (-want +got):\n%s", diff)
		}
	}
	check(f.awaitExplained("p", f.names(0, 1)...), "Selected", "Selected", mismatch, beaten, beaten, mismatch)

	f.taint(0)
	check(f.awaitExplained("p", f.names(1, 3)...), "Tainted: taint gpu=true:NoSelect", "Selected", mismatch, "Selected", beaten, mismatch)

	change(f, f.cluster(1), func(c *clusterv1.ManagedCluster) { c.Labels["region"] = "c" })
	check(f.awaitExplained("p", f.names(3, 4)...), "Tainted: taint gpu=true:NoSelect", mismatch, mismatch, "Selected", "Selected", mismatch)

	change(f, f.unsaved("p"), func(p *clusterv1beta1.Placement) {
		p.Spec.Predicates[0].RequiredClusterSelector.CelSelector.CelExpressions = []string{"managedCluster.nothing"}
	})
	kit.Await(t, "the placement is not decided", func(ctx context.Context) error {
		got, err := get[explain.Explanation](ctx, newAdmin(t), f.namespace, "p", "explanation")
		if err == nil && got.Decided {
			err = fmt.Errorf("%w: it is decided", errNotYet)
		}
		return err
	})
	const undecided = "Undecided: the placement is misconfigured or its last edit is held"
	kept := f.awaitExplained("p", f.names(3, 4)...)
	check(kept, undecided, undecided, undecided, "Kept", "Kept", undecided)
	if c := kept.Conditions[1]; c.Type != clusterv1beta1.PlacementConditionMisconfigured || c.Status != "True" {
		t.Errorf("the explanation has the conditions %+v", kept.Conditions)
	}
}

// TestTiersAreExplained taints the clusters of the first tier, so that the placement selects clusters of the second.
func TestTiersAreExplained(t *testing.T) {
	m := sharedManager(t)
	f := newFleet(t, 6)
	f.awaitSeen(m)
	f.placement("p", kit.Number(2), tiers("a", "b"))
	f.awaitExplained("p", f.names(0, 3)...)
	f.taint(0, 3)
	after := f.awaitExplained("p", f.names(1, 4)...)
	for number, tier := range map[int]string{0: "a", 1: "b", 4: "b"} {
		found, ok := after.Find(f.name(number))
		if !ok || found.Tier != tier {
			t.Errorf("cluster %d is in tier %+v, want %s", number, found, tier)
		}
	}
}

// TestStaleIfWritesFail rejects the manager's writes. The explanation shows the decision, and that it is not stored.
func TestStaleIfWritesFail(t *testing.T) {
	m := sharedManager(t)
	f := newFleet(t, 4)
	f.awaitSeen(m)
	f.placement("p", kit.Number(2), within("a"))
	f.awaitExplained("p", f.names(0, 3)...)
	m.rejectWrites.Store(true)
	defer m.rejectWrites.Store(false)
	f.taint(3)
	kit.Await(t, "the explanation is stale", func(ctx context.Context) error {
		got, err := get[explain.Explanation](ctx, newAdmin(t), f.namespace, "p", "explanation")
		if err != nil {
			return err
		}
		if want := "the stored decisions lag behind: they lack 0 selected clusters and hold 1 clusters that are not selected"; got.Stale !=
			want ||
			!cmp.Equal(got.Chosen(), f.names(0)) {
			return fmt.Errorf("%w: stale %q, selects %v", errNotYet, got.Stale, got.Chosen())
		}
		return nil
	})
	if stored, err := f.Selected(t.Context(), f.namespace, "p"); err != nil || !cmp.Equal(stored, f.names(0, 3)) {
		t.Errorf("stored are %v, %v: the manager writes", stored, err)
	}
	m.rejectWrites.Store(false)
	f.awaitExplained("p", f.names(0)...)
}
