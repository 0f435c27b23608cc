package placement

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/berth-project/berth/engine/enginetest"
)

// TestAChangeIsOneLine parses the log. Each change of the decisions is exactly one line, with the causes, the added clusters, and the
// removed clusters with the reasons. Without a change there is no line.
func TestAChangeIsOneLine(t *testing.T) {
	h := newSimpleHub(t, 3)
	p := enginetest.Placement("ns", "p").Number(2).Obj()
	h.putPlacement(p)
	l := startLoop(t, h)
	var lines []map[string]any
	ctx := log.IntoContext(t.Context(), funcr.NewJSON(func(text string) {
		line := map[string]any{}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Errorf("no structured line: %s", text)
		}
		lines = append(lines, line)
	}, funcr.Options{}))
	decided := func(changes map[string]any) []map[string]any {
		line := map[string]any{
			"logger": "", "level": 0.0, "msg": "decided", "selected": 2.0, "held": 0.0, "reason": "AllDecisionsScheduled",
			"generation": 1.0, "moreCauses": 0.0, "removedClusters": []any{}, "removedFor": []any{},
			"restored": 0.0, "restoredClusters": []any{}, "regrouped": 0.0, "regroupedClusters": []any{},
		}
		maps.Copy(line, changes)
		return []map[string]any{line}
	}
	for _, step := range []struct {
		what string
		do   func()
		want []map[string]any
	}{
		{"the first decision", func() {}, decided(map[string]any{
			"causes": []any{"Manager: started"}, "writes": 3.0, "added": 2.0, "removed": 0.0, "addedClusters": []any{"c00", "c01"},
		})},
		{"the informers show the writes", func() {}, nil},
		{"a cluster is deleted", func() { h.deleteCluster("c00") }, decided(map[string]any{
			"causes": []any{"ManagedCluster c00: deleted"}, "writes": 1.0, "added": 1.0, "removed": 1.0,
			"addedClusters": []any{"c02"}, "removedClusters": []any{"c00"}, "removedFor": []any{"Gone 1"},
		})},
		{"the informers show the new writes", func() {}, nil},
		{"a cluster that changes no decision", func() { h.putCluster(enginetest.Cluster("a00").In("sea").Obj()) }, nil},
	} {
		step.do()
		for informer := range 3 {
			for h.deliver(informer, l.informed) {
			}
		}
		lines = nil
		if _, err := l.Reconcile(ctx, request(keyOf(p))); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, lines); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
	}
}
