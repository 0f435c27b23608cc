//go:build slow

package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestPipeline runs every job of the example workflow. The gate stops a change that moves clusters, unless moves are allowed. The job of
// each selected cluster reaches this cluster and no other.
func TestPipeline(t *testing.T) {
	p, hub := newPipeline(t)
	allowed := `contains(github.event.pull_request.labels.*.name, 'moves-clusters') && 'yes' || 'no'`
	p.values[allowed] = "no"
	if printed, code := p.run(t, "gate"); code != 1 || !strings.Contains(printed, "PASS") ||
		!strings.Contains(printed, "gate: decisions move") {
		t.Errorf("the gate ended with %d:\n%s", code, printed)
	}
	p.values[allowed] = "yes"
	if printed, code := p.run(t, "gate"); code != 0 || !strings.Contains(printed, "moves are allowed") {
		t.Errorf("the gate with allowed moves ended with %d:\n%s", code, printed)
	}
	if printed, code := p.run(t, "clusters"); code != 0 {
		t.Fatalf("the job clusters ended with %d:\n%s", code, printed)
	}
	p.values["fromJSON(needs.clusters.outputs.matrix)"] = p.evaluate(t, p.Jobs["clusters"].Outputs["matrix"])
	var matrix struct {
		Include []map[string]any `json:"include"`
	}
	kit.NoError(t, json.Unmarshal([]byte(p.evaluate(t, p.Jobs["deploy"].Strategy.Matrix)), &matrix))
	p.storeMembers(t, hub)
	for _, entry := range matrix.Include {
		p.values["matrix.cluster"] = fmt.Sprint(entry["cluster"])
		if printed, code := p.run(t, "deploy"); code != 0 {
			t.Errorf("the job of %s ended with %d:\n%s", p.values["matrix.cluster"], code, printed)
		}
	}
	found := &corev1.ConfigMapList{}
	kit.New(t, hub).MustList(found, client.MatchingLabels{"app": "shop"})
	var reached []string
	for _, item := range found.Items {
		reached = append(reached, item.Namespace)
	}
	slices.Sort(reached)
	if diff := cmp.Diff([]string{"eu-1", "eu-2", "us-1"}, reached); diff != "" {
		t.Errorf("deployed to (-want +got):\n%s", diff)
	}
	if condition := p.Jobs["deploy"].If; condition != `needs.clusters.outputs.matrix != '{"include":[]}'` {
		t.Errorf("the job deploy runs if %s, which does not stop it for a decision without clusters", condition)
	}
}
