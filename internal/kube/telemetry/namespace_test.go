package telemetry_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/internal/kube/telemetry"
)

// TestNamespaceCounts: the namespaces with the highest counts have their own, and the others are added up.
func TestNamespaceCounts(t *testing.T) {
	var counts telemetry.NamespaceCounts[string]
	counts.Add("zoo", "held", 2)
	counts.Add("zoo", "wrong", 1)
	counts.Add("zoo", "held", -1)
	if diff := cmp.Diff(map[string]map[string]int{"zoo": {"held": 1, "wrong": 1}}, counts.Shown()); diff != "" {
		t.Errorf("one namespace (-want +got):\n%s", diff)
	}
	for number := range 1001 {
		counts.Add(fmt.Sprintf("ns-%04d", number), "held", 1)
	}
	got := counts.Shown()
	if len(got) != 1001 || len(got["zoo"]) != 2 || got[telemetry.OtherNamespaces]["held"] != 2 || got["ns-0998"] == nil {
		t.Errorf("%d namespaces, the largest has %v, the others have %v", len(got), got["zoo"], got[telemetry.OtherNamespaces])
	}
	for _, key := range []string{"held", "wrong"} {
		counts.Add("zoo", key, -1)
	}
	if got := counts.Shown()["zoo"]; got != nil {
		t.Errorf("a namespace without counts has %v", got)
	}
}
