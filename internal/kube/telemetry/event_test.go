package telemetry_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/internal/kube/telemetry"
)

// TestNewEvent: a note is short and has no control characters.
func TestNewEvent(t *testing.T) {
	got := telemetry.NewEvent("Normal", "R", "A", "%s is %d", "a\nb", 3)
	if diff := cmp.Diff(telemetry.Event{Type: "Normal", Reason: "R", Action: "A", Note: `a\nb is 3`}, got); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
	long := telemetry.NewEvent("Normal", "R", "A", "%s", strings.Repeat("ä", 600)).Note
	if len(long) > 1000 || !strings.HasSuffix(long, "ä...") {
		t.Errorf("the note has %d bytes and ends with %q", len(long), long[len(long)-8:])
	}
}
