package delivery

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestDecisionsOutliveTheirSetForADay: the day runs from when the set is away, and anew after each return.
func TestDecisionsOutliveTheirSetForADay(t *testing.T) {
	r, key := &reconciler{away: map[client.ObjectKey]time.Time{}}, client.ObjectKey{Namespace: "shop", Name: "web"}
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	expect := func(after, want time.Duration) {
		t.Helper()
		if got := r.untilOrphaned(key, now.Add(after)); got != want {
			t.Errorf("after %s they stay for %s, want %s", after, got, want)
		}
	}
	expect(0, 24*time.Hour)
	expect(23*time.Hour, time.Hour)
	r.returned(key)
	expect(30*time.Hour, 24*time.Hour)
	expect(54*time.Hour, 0)
}
