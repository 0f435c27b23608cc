package managedcluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// timeAdded returns the time that a taint gets by default: the stored time of an unchanged taint, else now. claimed means that
// the request sets another time. The stored time of the same key is not claimed, since clients copy it from the taint that
// they replace.
func timeAdded(before []clusterv1.Taint, taint clusterv1.Taint, now time.Time) (own metav1.Time, claimed bool) {
	given := taint.TimeAdded
	claimed = !given.IsZero()
	for _, old := range before {
		if old.Key != taint.Key || old.TimeAdded.IsZero() {
			continue
		}
		kept := sameTime(old.TimeAdded, given)
		if old.Effect == taint.Effect && old.Value == taint.Value && (own.IsZero() || kept) {
			own = old.TimeAdded
		}
		claimed = claimed && !kept
	}
	if own.IsZero() {
		return metav1.NewTime(now.UTC().Truncate(time.Second)), claimed
	}
	// A time of the same key is claimed where the taint itself has a stored time.
	return own, !given.IsZero() && !sameTime(own, given)
}

// sameTime ignores fractions of a second, which clients drop.
func sameTime(a, b metav1.Time) bool { return a.Truncate(time.Second).Equal(b.Truncate(time.Second)) }

// checkTaints rejects a change of the health taints, and of the time of an existing taint, without the permission for taints.
// Default has checked the times of new taints.
func (r Request) checkTaints(ctx context.Context) error {
	before, after := r.taints()
	if changed := r.changedHealthTaint(before, after); changed != "" {
		if err := r.require(ctx, fmt.Sprintf("put on, change or take away the taint %s, which reports the cluster's health", changed),
			r.taintPermission()); err != nil {
			return err
		}
	}
	for i, taint := range after {
		if own, claimed := timeAdded(before, taint, time.Time{}); claimed && !own.IsZero() {
			if err := r.requireTaintTime(ctx, i, taint); err != nil {
				return err
			}
		}
	}
	return nil
}

// requireTaintTime rejects a time that the user may not set.
func (r Request) requireTaintTime(ctx context.Context, index int, taint clusterv1.Taint) error {
	return r.require(ctx, fmt.Sprintf("set spec.taints[%d].timeAdded, of the taint %s with effect %s", index, taint.Key, taint.Effect),
		r.taintPermission())
}

// changedHealthTaint returns the key of a health taint whose change needs a permission, or "".
func (r Request) changedHealthTaint(before, after []clusterv1.Taint) string {
	old, now := healthTaints(before), healthTaints(after)
	for _, key := range healthKeys() {
		if !slices.Equal(old[key], now[key]) && !r.needsNoPermission(key, old[key], now[key]) {
			return key
		}
	}
	return ""
}

// healthKeys returns the keys of the taints that only the health controller writes.
func healthKeys() []string {
	return []string{clusterv1.ManagedClusterTaintUnavailable, clusterv1.ManagedClusterTaintUnreachable, clusterv1.ManagedClusterTaintDenied}
}

// healthTaints returns the sorted effects and values of the health taints by key. Their times are checked with those of all taints.
func healthTaints(taints []clusterv1.Taint) map[string][]string {
	out := map[string][]string{}
	for _, taint := range taints {
		if slices.Contains(healthKeys(), taint.Key) {
			out[taint.Key] = append(out[taint.Key], strings.Join([]string{string(taint.Effect), taint.Value}, "="))
		}
	}
	for _, values := range out {
		slices.Sort(values)
	}
	return out
}
