//go:build slow

package placement

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestNothingIsWrittenTwiceWhereFieldsAreDropped decides placements on a hub whose definitions lack fields that Berth reports,
// as on existing hubs. The manager reports the missing fields, and writes the same content only once, however often it decides.
// When the definitions get the fields, it reports everything. When they lose a required field, no decision moves.
func TestNothingIsWrittenTwiceWhereFieldsAreDropped(t *testing.T) {
	steady.Stop(t)
	hub := hubtest.New(t, hubtest.Options{})
	crds := newCRDEditor(t, hub)
	restore := func(resource string, schemas []apiextensionsv1.JSONSchemaProps) {
		crds.replace(resource, func(version int, schema *apiextensionsv1.JSONSchemaProps) { *schema = schemas[version] })
	}
	whole := crds.drop("placements",
		"spec.tiers", "spec.failbackPolicy", "status.numberOfReluctantClusters", "status.disruption", "status.failback")
	wholeDecisions := crds.drop("placementdecisions", "status.decisions.score")
	f := newFleetOn(t, hub, 0)
	f.join(0, "turn", "first")
	change(f, f.join(1, "turn", "first"), penalized)
	f.placement("plain", readTurnLabel)
	f.placement("strict", readTurnLabel, func(spec *clusterv1beta1.PlacementSpec) {
		spec.DisruptionPolicy = &clusterv1beta1.DisruptionPolicy{MaxUnavailable: intstr.FromInt32(1)}
	})

	probes := hubtest.FreeAddress(t)
	m := launch(t, options{Kubeconfig: hub.WriteKubeconfig(t, hub.ManagerConfig(t)), Args: []string{"--health-probe-bind-address=" + probes}})
	f.awaitSelected("plain", f.upTo(2)...)
	message := f.awaitCondition("strict", clusterv1beta1.PlacementConditionMisconfigured, metav1.ConditionTrue, "Misconfigured")
	if !strings.Contains(message, "lacks status.disruption") {
		t.Errorf("the message of a placement without status.disruption is %q", message)
	}
	awaitWarnings(t, probes, "field spec.tiers in v1beta1 of placements", "field spec.failbackPolicy in", "field status.disruption in",
		"field status.failback in",
		"field status.numberOfReluctantClusters in", "field status.decisions.score in v1beta1 of placementdecisions")

	evaluations := m.idle(t, 2).Sum("berth_placement_evaluations_total")
	before := groupWrites(t, hub)
	for turn := range 3 {
		change(f, f.cluster(0), func(c *clusterv1.ManagedCluster) { c.Labels["turn"] = fmt.Sprint(turn) })
		evaluations = m.idle(t, evaluations+2).Sum("berth_placement_evaluations_total")
	}
	if diff := cmp.Diff(before, groupWrites(t, hub)); diff != "" {
		t.Errorf("writes while placements were decided again (-before +after):\n%s", diff)
	}

	restore("placements", whole)
	restore("placementdecisions", wholeDecisions)
	f.awaitPenalized("plain", 1)
	f.awaitSelected("strict", f.upTo(2)...)
	awaitWarnings(t, probes)

	wholeClusters := crds.drop("managedclusters", "status.clusterClaims")
	awaitWarnings(t, probes, "status.clusterClaims in v1 of managedclusters.cluster.open-cluster-management.io: no placement is decided")
	f.join(2, "turn", "last")
	m.awaitPostponed(t)
	f.awaitSelected("plain", f.upTo(2)...)
	restore("managedclusters", wholeClusters)
	f.awaitSelected("plain", f.upTo(3)...)
}

// TestNothingIsLostOnAFaultyNetwork changes a fleet in many ways while most requests of the manager fail. No placement ever evicts a
// selected cluster that is still eligible. At the end every decision is correct.
func TestNothingIsLostOnAFaultyNetwork(t *testing.T) {
	const seed, clusters, sticky, events = 20261120, 40, 30, 240
	t.Logf("seed %d", seed)
	f := newFleet(t, 0)
	for i := range clusters {
		f.join(1000+i, "ring", fmt.Sprint(i%4))
	}
	f.placement("all", func(spec *clusterv1beta1.PlacementSpec) { spec.DecisionStrategy.GroupStrategy = groupStrategies()[1] })
	for i := range 6 {
		f.placement(fmt.Sprintf("moving-%d", i), kit.Number(int32(5*i)), kit.Labelled("mood", fmt.Sprint(i%3)),
			kit.Labelled("ring", fmt.Sprint(i%4)))
	}
	p, kubeconfig := newProxy(t)
	start(t, options{Kubeconfig: kubeconfig})
	awaitFixedPoint(t)

	network := &faultyNetwork{random: rand.New(rand.NewPCG(seed, 1)), counts: map[string]int{}}
	p.setRule(network.serve)
	p.CloseConnections() // the watches from before the faults
	witness := &selectionRecorder{prefix: "sticky-", seen: map[string]map[string]bool{}}
	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { witness.follow(ctx, f) })
	t.Cleanup(func() { stop(); following.Wait() })

	for i := range events {
		if i%(events/sticky) == 0 {
			// Better clusters are created during these decisions. They must not replace incumbents.
			f.placement(fmt.Sprintf("sticky-%02d", i/(events/sticky)), kit.Number(7), kit.Labelled("calm", "yes"))
		}
		switch i % 4 {
		case 0:
			f.join(999-i/4, "calm", "yes", "ring", fmt.Sprint(i%3))
		case 1:
			change(f, f.cluster(1000+i%clusters), func(c *clusterv1.ManagedCluster) { c.Labels["mood"] = fmt.Sprint(i % 3) })
		case 2:
			change(f, f.cluster(1000+i%clusters), func(c *clusterv1.ManagedCluster) { toggle(c) })
		default:
			name := fmt.Sprintf("passing-%d", i)
			f.placement(name, kit.Number(int32(i%9)))
			if i%8 == 3 {
				f.MustDelete(kit.Placement(f.namespace, name))
			}
		}
	}
	// The faults continue until each has happened several times. The delays of the client library determine when the
	// manager can watch and write again.
	more := 0
	kit.Await(t, "every fault has happened", func(ctx context.Context) error {
		more++
		mood := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"mood":"%d"}}}`, more%3))
		if err := f.Patch(ctx, f.cluster(1000+more%clusters), mood); err != nil {
			return err
		}
		return network.checkCounts()
	})
	p.setRule(nil)
	awaitFixedPoint(t)
	stop()
	following.Wait()
	t.Logf("faults: %v; %d lists", network.snapshot(), witness.lists)
	for _, problem := range witness.problems {
		t.Error(problem)
	}
}
