package health

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

// taintChange is a change of the taints of a cluster.
type taintChange struct {
	// taints are all taints after the change, in order.
	taints []clusterv1.Taint
	// added and removed are the keys of the changed taints.
	added, removed []string
}

func (c taintChange) empty() bool { return len(c.added)+len(c.removed) == 0 }

// wantedTaint returns the key of the taint for a reported status, or "".
func wantedTaint(available metav1.ConditionStatus) string {
	switch available {
	case metav1.ConditionTrue:
		return ""
	case metav1.ConditionFalse:
		return clusterv1.ManagedClusterTaintUnavailable
	default:
		return clusterv1.ManagedClusterTaintUnreachable
	}
}

// changeTaints returns a change after which the cluster has the wanted health taint and not the other one. A taint that replaces the
// other keeps its time, since the outage is the same. Taints with other values or effects belong to users and stay. If such a
// taint has the wanted key and effect, it is used as it is: no cluster may have two.
func changeTaints(before []clusterv1.Taint, want string, now time.Time) taintChange {
	out := taintChange{taints: slices.Clone(before)}
	for _, key := range []string{clusterv1.ManagedClusterTaintUnavailable, clusterv1.ManagedClusterTaintUnreachable} {
		at := slices.IndexFunc(out.taints, func(taint clusterv1.Taint) bool { return isManaged(taint, key) })
		if key == want || at < 0 {
			continue
		}
		out.removed = append(out.removed, key)
		if want == "" || hasNoSelect(out.taints, want) {
			out.taints = slices.Delete(out.taints, at, at+1)
			continue
		}
		out.added = append(out.added, want)
		out.taints[at].Key = want
		if out.taints[at].TimeAdded.IsZero() {
			out.taints[at].TimeAdded = stamp(now)
		}
	}
	if want != "" && !hasNoSelect(out.taints, want) {
		out.added = append(out.added, want)
		out.taints = append(out.taints, clusterv1.Taint{Key: want, Effect: clusterv1.TaintEffectNoSelect, TimeAdded: stamp(now)})
	}
	return out
}

// presence is the wanted state of a taint.
type presence int

const (
	unchanged presence = iota
	present
	absent
)

// changeDenied adds the wanted change of the taint of denied clusters to a change.
func changeDenied(change taintChange, wanted presence, now time.Time) taintChange {
	const key = clusterv1.ManagedClusterTaintDenied
	at := slices.IndexFunc(change.taints, func(taint clusterv1.Taint) bool { return isManaged(taint, key) })
	switch {
	case wanted == present && !hasNoSelect(change.taints, key):
		change.added = append(change.added, key)
		change.taints = append(slices.Clip(change.taints), clusterv1.Taint{
			Key: key, Effect: clusterv1.TaintEffectNoSelect,
			TimeAdded: stamp(now),
		})
	case wanted == absent && at >= 0:
		change.removed = append(change.removed, key)
		change.taints = slices.Delete(slices.Clone(change.taints), at, at+1)
	}
	return change
}

// isManaged reports whether a taint is the one of a key that the controller adds and removes.
func isManaged(taint clusterv1.Taint, key string) bool { return registration.IsHubTaint(taint, key) }

// hasNoSelect reports whether there is a NoSelect taint with a key and any value.
func hasNoSelect(taints []clusterv1.Taint, key string) bool {
	return slices.ContainsFunc(taints, func(taint clusterv1.Taint) bool {
		return taint.Key == key && taint.Effect == clusterv1.TaintEffectNoSelect
	})
}

// stamp returns a time in the resolution of the API: seconds.
func stamp(now time.Time) metav1.Time { return metav1.NewTime(now.Truncate(time.Second)) }
