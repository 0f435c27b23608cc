package enginetest_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/plan"
)

// unmanaged are the placements that Berth does not decide.
func unmanaged() map[string]func(w *enginetest.State, c decided) plan.Stored {
	edit := func(apply func(*clusterv1beta1.Placement)) func(*enginetest.State, decided) plan.Stored {
		return func(w *enginetest.State, c decided) plan.Stored {
			next := w.Placements[c.key].DeepCopy()
			apply(next)
			w.Add(next)
			return w.Stored(c.key)
		}
	}
	return map[string]func(w *enginetest.State, c decided) plan.Stored{
		"disabled": edit(func(p *clusterv1beta1.Placement) {
			p.Annotations = map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"}
		}),
		"terminating": edit(func(p *clusterv1beta1.Placement) { p.DeletionTimestamp = &metav1.Time{Time: enginetest.Epoch} }),
		"orphaned": func(w *enginetest.State, c decided) plan.Stored {
			out := w.Stored(c.key)
			out.Placement = nil
			return out
		},
	}
}

// TestRevokeRemovesOnlyUnreachableClusters compares the plans for placements that Berth does not decide with the oracle's
// reachable clusters.
func TestRevokeRemovesOnlyUnreachableClusters(t *testing.T) {
	for name, leave := range unmanaged() {
		t.Run(name, func(t *testing.T) {
			forEachDecision(t, properties/4, func(t *testing.T, _ harness, at string, c decided) {
				w := c.state.Copy()
				stored := leave(w, c)
				before := w.SlicesOf(c.key)
				for _, write := range plan.Revoke(c.snapshot, c.key, stored).Writes {
					w.Apply(write)
				}
				if diff := cmp.Diff(revoked(w, c, before, name == "orphaned"), w.SlicesOf(c.key)); diff != "" {
					t.Errorf("%s: stored in the end (-want +got):\n%s", at, diff)
				}
				stored.Slices = w.SlicesOf(c.key)
				if again := plan.Revoke(c.snapshot, c.key, stored); !again.Empty() || len(again.Removed) > 0 {
					t.Errorf("%s: once more takes out %v in %d writes", at, again.Removed, len(again.Writes))
				}
			})
		})
	}
}

// revoked returns the wanted rest of slices.
func revoked(w *enginetest.State, c decided, before []*clusterv1beta1.PlacementDecision,
	orphaned bool,
) []*clusterv1beta1.PlacementDecision {
	var out []*clusterv1beta1.PlacementDecision
	for _, slice := range before {
		slice = slice.DeepCopy()
		if _, ours := slice.Annotations["berth-project.io/decision-strategy-hash"]; ours {
			slice.Status.Decisions = slices.DeleteFunc(slice.Status.Decisions, func(entry clusterv1beta1.ClusterDecision) bool {
				return !w.Reachable(c.key.Namespace, entry.ClusterName)
			})
			if orphaned && len(slice.Status.Decisions) == 0 {
				continue
			}
		}
		out = append(out, slice)
	}
	return out
}

// TestSlicesGoWithTheirPlacementAtOnce tests placements that are gone, or whose deletion waits for their slices.
func TestSlicesGoWithTheirPlacementAtOnce(t *testing.T) {
	p := enginetest.Placement("ns", "p").Obj()
	p.UID = "uid"
	mine := enginetest.Slice("ns", "p", 1, "a").Strategy("s").Obj()
	mine.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(p, clusterv1beta1.GroupVersion.WithKind("Placement"))}
	others := enginetest.Slice("ns", "p", 2, "a").Obj()
	others.OwnerReferences = mine.OwnerReferences
	waiting := p.DeepCopy()
	waiting.DeletionTimestamp, waiting.Finalizers = &metav1.Time{Time: enginetest.Epoch}, []string{metav1.FinalizerDeleteDependents}
	held := waiting.DeepCopy()
	held.Finalizers = []string{"example.com/hold"}
	orphaning := waiting.DeepCopy()
	orphaning.Finalizers = []string{metav1.FinalizerOrphanDependents}
	w := enginetest.NewState(enginetest.Set("all").Obj(), enginetest.Cluster("a").In("all").Obj()).Bind("ns", "all")
	for name, tc := range map[string]struct {
		stored plan.Stored
		want   []string
	}{
		"the placement is gone":                          {plan.Stored{FormerUID: "uid"}, []string{"delete p-decision-1"}},
		"another placement of the name was known before": {plan.Stored{FormerUID: "other"}, nil},
		"the placement waits for its slices":             {plan.Stored{Placement: waiting}, []string{"delete p-decision-1"}},
		"the placement waits for something else":         {plan.Stored{Placement: held}, nil},
		"the placement leaves its slices behind":         {plan.Stored{Placement: orphaning}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tc.stored.Slices = []*clusterv1beta1.PlacementDecision{mine, others}
			var got []string
			made := plan.Revoke(w.Snapshot(), enginetest.NewState(p).Keys()[0], tc.stored)
			for _, write := range made.Writes {
				got = append(got, write.Verb.String()+" "+write.Slice.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || len(made.Removed) > 0 {
				t.Errorf("removed %v, writes (-want +got):\n%s", made.Removed, diff)
			}
		})
	}
}
