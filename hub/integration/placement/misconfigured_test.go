package placement

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

func grouping(size string) func(*clusterv1beta1.PlacementSpec) {
	return func(spec *clusterv1beta1.PlacementSpec) {
		spec.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup = intstr.Parse(size)
	}
}

func builtIn(name string) func(*clusterv1beta1.PlacementSpec) {
	return func(spec *clusterv1beta1.PlacementSpec) {
		spec.PrioritizerPolicy.Configurations = []clusterv1beta1.PrioritizerConfig{{
			Weight:          new(int32(1)),
			ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{Type: clusterv1beta1.ScoreCoordinateTypeBuiltIn, BuiltIn: name},
		}}
	}
}

// misconfigurations are invalid specs that the API server stores, with the message of the condition.
var misconfigurations = map[string]struct {
	change func(*clusterv1beta1.PlacementSpec)
	text   string
}{
	"an expression that does not compile": {expression(`managedCluster.metadata.name ==`), "compilation failed"},
	"an expression that returns no bool":  {expression(`managedCluster.metadata.name`), "bool"},
	"an unknown prioritizer":              {builtIn("Sparkle"), "Sparkle"},
	"a toleration without a key": {
		tolerating(clusterv1beta1.Toleration{Value: "gpu"}),
		"If the key is empty, operator must be Exists.",
	},
	"an invalid selector": {kit.Labelled("not a key", "x"), "not a key"},
}

// TestMisconfigurationKeepsTheDecisions makes each mistake in a placement with decisions, changes the fleet, and corrects the mistake.
func TestMisconfigurationKeepsTheDecisions(t *testing.T) {
	sharedManager(t)
	for name, mistake := range misconfigurations {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, 3)
			p := f.placement("p", kit.Number(3))
			f.awaitSelected("p", f.upTo(3)...)
			good := p.Spec
			satisfied := f.condition("p", clusterv1beta1.PlacementConditionSatisfied)

			change(f, p, func(p *clusterv1beta1.Placement) { mistake.change(&p.Spec) })
			message := f.awaitCondition("p", clusterv1beta1.PlacementConditionMisconfigured, metav1.ConditionTrue, "Misconfigured")
			if !strings.Contains(message, mistake.text) {
				t.Errorf("message %q, want %q in it", message, mistake.text)
			}
			f.join(3)
			f.awaitKept("p", 3, f.upTo(3)...)
			if diff := cmp.Diff(satisfied, f.condition("p", clusterv1beta1.PlacementConditionSatisfied)); diff != "" {
				t.Errorf("PlacementSatisfied moved (-before +after):\n%s", diff)
			}
			// Lost access revokes decisions even of a misconfigured placement.
			f.MustDelete(f.cluster(1))
			f.awaitKept("p", 2, f.names(0, 2)...)

			change(f, p, func(p *clusterv1beta1.Placement) { p.Spec = good })
			f.awaitCondition("p", clusterv1beta1.PlacementConditionMisconfigured, metav1.ConditionFalse, "Succeedconfigured")
			f.awaitSelected("p", f.names(0, 2, 3)...)
			awaitFixedPoint(t)
		})
	}
}

func TestMisconfiguredFromTheStartHasOneEmptySlice(t *testing.T) {
	sharedManager(t)
	f := newFleet(t, 3)
	for name, mistake := range map[string]func(*clusterv1beta1.PlacementSpec){
		"broken": expression("nonsense("), "unknown": builtIn("Sparkle"),
	} {
		f.placement(name, mistake)
		f.awaitCondition(name, clusterv1beta1.PlacementConditionMisconfigured, metav1.ConditionTrue, "Misconfigured")
		f.awaitKept(name, 0)
		stored, err := f.slices(t.Context(), name)
		if err != nil || len(stored) != 1 || stored[0].Name != name+"-decision-1" || stored[0].Status.Decisions == nil {
			t.Errorf("slices %+v, %v, want one empty %s-decision-1", stored, err, name)
		}
	}
	awaitFixedPoint(t)
}

// TestBrokenSetEvictsNoCluster stores a set with an invalid operator in its selector. Its clusters stay selected, the clusters
// of another set change, and the conditions report that.
func TestBrokenSetEvictsNoCluster(t *testing.T) {
	sharedManager(t)
	f := newFleet(t, 3)
	other := newFleet(t, 1)
	f.bind(other.namespace)
	f.placement("p")
	f.awaitSelected("p", sorted(append(f.upTo(3), other.name(0)))...)
	set := kit.Set(f.namespace)
	change(f, set, func(s *clusterv1beta2.ManagedClusterSet) {
		s.Spec.ClusterSelector = clusterv1beta2.ManagedClusterSelector{
			SelectorType: clusterv1beta2.LabelSelector,
			LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "sea", Operator: "Resembles", Values: []string{"north"}},
			}},
		}
	})
	message := f.awaitCondition("p", clusterv1beta1.PlacementConditionMisconfigured, metav1.ConditionTrue, "Misconfigured")
	if !strings.Contains(message, f.namespace) || !strings.Contains(message, "Resembles") {
		t.Errorf("message %q, want the set and the operator in it", message)
	}
	other.join(1)
	f.join(3)
	change(f, f.cluster(1), func(c *clusterv1.ManagedCluster) { c.Labels["any"] = "thing" })
	f.awaitSelected("p", sorted(append(f.upTo(3), other.upTo(2)...))...)
	other.MustDelete(other.cluster(0))
	f.awaitSelected("p", sorted(append(f.upTo(3), other.name(1)))...)
	change(f, set, func(s *clusterv1beta2.ManagedClusterSet) { s.Spec = clusterv1beta2.ManagedClusterSetSpec{} })
	f.awaitSelected("p", sorted(append(f.upTo(4), other.name(1)))...)
	awaitFixedPoint(t)
}

// TestMissingBuiltInSetEvictsNoCluster deletes the set global and then edits its selector. It is restored each time, and no decision
// is written.
func TestMissingBuiltInSetEvictsNoCluster(t *testing.T) {
	start(t, options{Args: []string{"--controllers=placement,clusterset"}})
	f := newFleet(t, 0)
	f.bind(clusterv1beta2.GlobalClusterSetName)
	f.join(0, "part", f.namespace)
	f.join(1, "part", f.namespace)
	f.MustDelete(&clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: f.namespace}})
	f.placement("p", kit.Labelled("part", f.namespace))
	f.awaitSelected("p", f.upTo(2)...)
	awaitFixedPoint(t)
	before := kit.Must(f.slices(t.Context(), "p")).In(t)
	global := kit.GlobalSet()
	for range 3 {
		f.MustDelete(global)
		f.awaitSelector(global, &metav1.LabelSelector{})
		change(f, global, func(s *clusterv1beta2.ManagedClusterSet) {
			s.Spec.ClusterSelector.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"part": "none"}}
		})
		f.awaitSelector(global, &metav1.LabelSelector{})
	}
	f.placement("q", kit.Labelled("part", f.namespace))
	f.awaitSelected("q", f.upTo(2)...)
	awaitFixedPoint(t)
	after := kit.Must(f.slices(t.Context(), "p")).In(t)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the slices were written (-before +after):\n%s", diff)
	}
}

// awaitSelector waits until a set exists and selects by some labels.
func (f *fleet) awaitSelector(set *clusterv1beta2.ManagedClusterSet, want *metav1.LabelSelector) {
	f.t.Helper()
	f.AwaitObject(set, "a set exists and selects by some labels", func() error {
		if diff := cmp.Diff(want, set.Spec.ClusterSelector.LabelSelector); diff != "" {
			return fmt.Errorf("set %s (-want +got):\n%s", set.Name, diff)
		}
		return nil
	})
}

// condition returns a condition of a placement without its observed generation.
func (f *fleet) condition(placement, kind string) metav1.Condition {
	f.t.Helper()
	object := &clusterv1beta1.Placement{}
	f.MustGet(client.ObjectKey{Namespace: f.namespace, Name: placement}, object)
	for _, c := range object.Status.Conditions {
		if c.Type == kind {
			c.ObservedGeneration = 0
			return c
		}
	}
	f.t.Fatalf("placement %s has no condition %s", placement, kind)
	return metav1.Condition{}
}
