package placementapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-project/berth/internal/placement/live"
	"github.com/berth-project/berth/internal/views/placementapi"
)

// TestAGraceThatWaitsHasNoEnd describes a grace, and the same while a definition is missing.
func TestAGraceThatWaitsHasNoEnd(t *testing.T) {
	all := func(string) bool { return true }
	for _, waits := range []bool{false, true} {
		of := live.Grace{Kind: live.GraceSet, Name: "sea", Since: time.Unix(1, 0), Until: time.Unix(16, 0), Waits: waits}
		got := placementapi.GraceHolds([]live.Grace{of}, all, all, all)[0]
		if stated := strings.Contains(got.Cause, "The grace waits"); stated != waits || (got.Until == nil) != waits {
			t.Errorf("it waits: %t, and the hold is %+v", waits, got)
		}
	}
}
