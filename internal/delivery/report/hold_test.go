package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/internal/kube/hold"
)

// TestHolds: a set has a hold for a breach and one for each mandatory group that is not proven, with the time of the record.
func TestHolds(t *testing.T) {
	const release = "kubectl berth holds release manifestworkreplicaset/web -n shop --reason WHY"
	since := metav1.NewTime(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC))
	breach := func(placement string, after time.Duration) clusterv1alpha1.RolloutHold {
		return clusterv1alpha1.RolloutHold{Type: clusterv1alpha1.HoldBreach, Placement: placement, Since: metav1.NewTime(since.Add(after))}
	}
	unproven := func(placement, group string) clusterv1alpha1.RolloutHold {
		return clusterv1alpha1.RolloutHold{
			Type: clusterv1alpha1.HoldUnprovenGroup, Placement: placement,
			MandatoryDecisionGroup: clusterv1alpha1.MandatoryDecisionGroup{GroupName: group}, Since: since,
		}
	}
	for name, c := range map[string]struct {
		reason  string
		holds   []clusterv1alpha1.RolloutHold
		aborted bool
		want    string
		end     string
	}{
		"a breach": {"Breached", []clusterv1alpha1.RolloutHold{breach("p", 0)}, false, "Breach: why", release},
		"breaches of placements": {
			"Breached",
			[]clusterv1alpha1.RolloutHold{breach("p", time.Hour), breach("q", 0)},
			false, "Breach: why",
			release,
		},
		"an aborted rollout": {
			"Breached",
			[]clusterv1alpha1.RolloutHold{breach("p", 0)},
			true, "Breach: why",
			"another template: the rollout was aborted, and its clusters return",
		},
		"an unproven group": {
			"MandatoryGroupUnproven",
			[]clusterv1alpha1.RolloutHold{unproven("p", "canary")},
			false, "UnprovenGroup: why",
			release,
		},
		"both": {
			"Breached",
			[]clusterv1alpha1.RolloutHold{breach("p", 0), unproven("p", "canary"), unproven("q", "early")},
			false,
			"Breach: why, UnprovenGroup: No cluster of the mandatory group with groupName canary of Placement p can prove the change: " +
				"later groups wait until a person passes it, UnprovenGroup: No cluster of the mandatory group with groupName early of " +
				"Placement q can prove the change: later groups wait until a person passes it", release,
		},
		"a failed rollout": {"Failed", []clusterv1alpha1.RolloutHold{breach("p", 0)}, false, "Breach: why", release},
		"all clusters lost": {
			"Empty",
			[]clusterv1alpha1.RolloutHold{breach("p", 0)},
			false, "Breach: More clusters failed or were lost under Placement p than its maxFailures allows", release,
		},
		"a placement that was taken out": {
			"Breached",
			[]clusterv1alpha1.RolloutHold{breach("gone", 0)},
			false,
			"Breach: More clusters failed or were lost under Placement gone than its maxFailures allows; it was taken out of the set since: edge-1",
			release,
		},
		"a rollout under way": {"Advancing", nil, false, "", ""},
		"no condition":        {},
	} {
		t.Run(name, func(t *testing.T) {
			set := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
			set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: "p"}, {Name: "q"}}
			if c.reason != "" {
				set.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.Progressing, Reason: c.reason, Message: "why"}}
				set.Status.Rollout = &clusterv1alpha1.RolloutRecord{Holds: c.holds, Clusters: []clusterv1alpha1.ClusterRolloutRecord{
					{Name: "edge-1", Placement: "gone", Phase: clusterv1alpha1.ClusterLost},
				}}
			}
			if c.aborted {
				set.Status.AbortedTime = &since
			}
			found := report.Holds(set)
			var got []string
			for _, h := range found {
				got = append(got, string(h.Type)+": "+h.Cause)
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("%s, want %s", text, c.want)
			}
			if slices.ContainsFunc(found, func(h hold.Hold) bool { return h.End != c.end || !h.Since.Equal(&since) }) {
				t.Errorf("%+v, want since %s, and the end %s", found, since, c.end)
			}
		})
	}
}
