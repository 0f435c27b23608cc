package placement

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestColdStart starts a manager on a hub with two hundred clusters and fifty new placements. Each placement takes exactly four
// writes, in this order. The label is written after the decisions.
func TestColdStart(t *testing.T) {
	steady.Stop(t)
	const clusters, placements = 200, 50
	f := newFleet(t, 0)
	for i := range clusters {
		f.join(i, "zone", fmt.Sprint(i%5))
	}
	for i := range placements {
		f.placement(fmt.Sprintf("p%02d", i), kit.Number(int32(1+i*2)), func(spec *clusterv1beta1.PlacementSpec) {
			if i%3 == 0 {
				kit.Labelled("zone", fmt.Sprint(i%5))(spec)
			}
		})
	}
	awaitGarbageCollected(t)
	before := writes(t)
	p, kubeconfig := newProxy(t)
	m := start(t, options{Kubeconfig: kubeconfig})
	read := m.idle(t, placements)
	awaitFixedPoint(t)
	if got := m.idle(t, placements).Sum("berth_placement_evaluations_total"); got != placements {
		t.Errorf("%v evaluations, want one per placement, %d: %v", got, placements, read)
	}

	got := map[string][]string{}
	for _, c := range p.writes() {
		parts := strings.Split(strings.TrimPrefix(c.path, "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/"+f.namespace+"/"), "/")
		if c.method == http.MethodPost {
			continue // the path of a create lacks the placement; the counts below check it
		}
		owner, _, _ := strings.Cut(parts[1], "-decision-")
		got[owner] = append(got[owner], fmt.Sprintf("%s %s %d", c.method, strings.Join(parts, "/"), c.code))
	}
	for i := range placements {
		name := fmt.Sprintf("p%02d", i)
		want := []string{
			"PUT placementdecisions/" + name + "-decision-1/status 200", "PATCH placementdecisions/" + name + "-decision-1 200",
			"PUT placements/" + name + "/status 200",
		}
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("writes of %s (-want +got):\n%s", name, diff)
		}
	}
	after := writes(t)
	for what, want := range map[string]float64{
		"POST placementdecisions": placements, "PUT placementdecisions/status": placements, "PATCH placementdecisions": placements,
		"PUT placements/status": placements,
	} {
		if got := after[what] - before[what]; got != want {
			t.Errorf("%s: %v times, want %v", what, got, want)
		}
		delete(before, what)
		delete(after, what)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("further writes (-before +after):\n%s", diff)
	}
}
