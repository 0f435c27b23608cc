package addoninstall

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAFailedCanaryThatLeavesStopsTheRollout holds that neither the end of the manager nor the end of the canary takes the failure away:
// the canary is tried again when it is back, and another configuration goes on.
func TestAFailedCanaryThatLeavesStopsTheRollout(t *testing.T) {
	f := newFleet(t, 3)
	f.configure("one")
	p := f.startProgram(f.namespace)
	manager := startManager(t)
	f.install(f.namespace)
	f.awaitVersions(p, "one", "one", "one")
	f.awaitProgress(p, "one", "Completed")

	f.configure("broken")
	f.awaitProgress(p, "broken", "Failed")
	f.awaitVersions(p, "one!", "one", "one")
	manager.Stop()
	f.label(f.clusters[0], "use", "no")
	startManager(t)
	f.awaitVersions(p, "-", "one", "one")
	f.awaitReason(p.name, "Failed", func(progress map[string]any) bool {
		record, _, _ := unstructured.NestedSlice(progress, "rollout", "clusters")
		if len(record) != 1 {
			return false
		}
		entry, _ := record[0].(map[string]any)
		return entry["phase"] == "Lost" && entry["name"] == f.clusters[0]
	})

	t.Log("it is back, and fails again")
	f.label(f.clusters[0], "use", "yes")
	f.awaitVersions(p, "!", "one", "one")
	f.awaitProgress(p, "broken", "Failed")
	f.configure("two")
	f.awaitVersions(p, "two", "two", "two")
	f.awaitProgress(p, "two", "Completed")
}
