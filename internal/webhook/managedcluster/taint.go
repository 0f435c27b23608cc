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

// timeAdded returns the time that a taint has by itself: the old one where the taint was there with the same value, else
// now. claimed says that the caller asks for yet another one. A time that the same key had before is not claimed: it
// was carried over from the taint that this one replaces.
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
	// Even a time of the same key is a claim where the taint has one of its own.
	return own, !given.IsZero() && !sameTime(own, given)
}

// sameTime ignores what clients lose: they write no fractions of a second.
func sameTime(a, b metav1.Time) bool { return a.Truncate(time.Second).Equal(b.Truncate(time.Second)) }

// checkTaints refuses, without the right to, to say how healthy a cluster is, or since when it has a taint that it
// had before. Since when it has a new one was for the stamping to refuse.
func (c Request) checkTaints(ctx context.Context) error {
	before, after := c.taints()
	if changed := c.changedHealthTaint(before, after); changed != "" {
		if err := c.require(ctx, fmt.Sprintf("put on, change or take away the taint %s, which reports the cluster's health", changed), c.taintPermission()); err != nil {
			return err
		}
	}
	for i, taint := range after {
		if own, claimed := timeAdded(before, taint, time.Time{}); claimed && !own.IsZero() {
			if err := c.requireTaintTime(ctx, i, taint); err != nil {
				return err
			}
		}
	}
	return nil
}

// requireTaintTime refuses a time that the caller claims without the right to.
func (c Request) requireTaintTime(ctx context.Context, index int, taint clusterv1.Taint) error {
	return c.require(ctx, fmt.Sprintf("set spec.taints[%d].timeAdded, of the taint %s with effect %s", index, taint.Key, taint.Effect), c.taintPermission())
}

// changedHealthTaint returns the key of a taint about health that the request changes and needs a permission for, or "".
func (c Request) changedHealthTaint(before, after []clusterv1.Taint) string {
	old, now := healthTaints(before), healthTaints(after)
	for _, key := range healthKeys() {
		if !slices.Equal(old[key], now[key]) && !c.needsNoPermission(key, old[key], now[key]) {
			return key
		}
	}
	return ""
}

// healthKeys are the keys of the taints that only the health controller writes.
func healthKeys() []string {
	return []string{clusterv1.ManagedClusterTaintUnavailable, clusterv1.ManagedClusterTaintUnreachable, clusterv1.ManagedClusterTaintDenied}
}

// healthTaints returns what the taints about health say, by key: their values and effects, sorted. Their times are looked
// at with those of all other taints.
func healthTaints(taints []clusterv1.Taint) map[string][]string {
	out := map[string][]string{}
	for _, taint := range taints {
		if slices.Contains(healthKeys(), taint.Key) {
			out[taint.Key] = append(out[taint.Key], strings.Join([]string{string(taint.Effect), taint.Value}, "="))
		}
	}
	for _, said := range out {
		slices.Sort(said)
	}
	return out
}
