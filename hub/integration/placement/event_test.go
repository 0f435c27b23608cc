package placement

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestOneEventPerChange makes changes that affect one slice, three slices, no slice, or only the conditions, and deletes a slice. A
// change that moves a cluster has one event with the clusters. This includes a move to another group. A mistake in the spec has one
// event too. Other changes have no event.
func TestOneEventPerChange(t *testing.T) {
	m := sharedManager(t)
	f := newFleet(t, 5)
	f.placement("p", kit.Number(2), byScore)
	f.awaitSelected("p", f.upTo(2)...)

	// Two swaps, which leave the status of the placement as it is.
	taint := func(number int) {
		change(f, f.cluster(number), func(c *clusterv1.ManagedCluster) { toggle(c) })
	}
	taint(0)
	f.awaitSelected("p", f.names(1, 2)...)
	taint(1)
	f.awaitSelected("p", f.names(2, 3)...)

	f.score(2, 10, nil) // changes a rank, moves no decision
	f.placement("wide", grouping("1"))
	f.awaitSelected("wide", f.names(2, 3, 4)...)
	p := f.object("wide")
	change(f, p, func(p *clusterv1beta1.Placement) { grouping("2")(&p.Spec) }) // moves clusters between slices only
	awaitFixedPoint(t)
	change(f, p, func(p *clusterv1beta1.Placement) { builtIn("Sparkle")(&p.Spec) })
	mistake := f.awaitCondition("wide", clusterv1beta1.PlacementConditionMisconfigured, metav1.ConditionTrue, "Misconfigured")
	change(f, p, func(p *clusterv1beta1.Placement) { p.Spec.PrioritizerPolicy = clusterv1beta1.PrioritizerPolicy{} })
	f.awaitCondition("wide", clusterv1beta1.PlacementConditionMisconfigured, metav1.ConditionFalse, "Succeedconfigured")
	f.join(5)
	f.awaitSelected("wide", f.names(2, 3, 4, 5)...)
	f.MustDelete(&clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "p-decision-1"}})
	f.awaitSelected("p", f.names(2, 3)...)
	m.idle(t, 0)

	decisions := "Decisions of placement %s in namespace " + f.namespace + " are %s"
	want := []string{
		"p Normal DecisionCreate DecisionCreated: " + fmt.Sprintf(decisions, "p", "created: 2 selected, added 2 ("+f.name(0)+", "+f.name(1)+")"),
		"p Normal DecisionUpdate DecisionUpdated: " + fmt.Sprintf(decisions, "p",
			"updated: 2 selected, added 1 ("+f.name(2)+"), removed 1 ("+f.name(0)+": taint drain:NoSelect 1)"),
		"p Normal DecisionUpdate DecisionUpdated: " + fmt.Sprintf(decisions, "p",
			"updated: 2 selected, added 1 ("+f.name(3)+"), removed 1 ("+f.name(1)+": taint drain:NoSelect 1)"),
		"p Normal DecisionUpdate DecisionUpdated: " + fmt.Sprintf(decisions, "p",
			"updated: 2 selected, restored 2 ("+f.name(2)+", "+f.name(3)+": another client removed them)"),
		"wide Normal DecisionCreate DecisionCreated: " + fmt.Sprintf(decisions, "wide",
			"created: 3 selected, added 3 ("+f.name(2)+", "+f.name(3)+", "+f.name(4)+")"),
		"wide Normal DecisionUpdate DecisionUpdated: " + fmt.Sprintf(decisions, "wide",
			"updated: 3 selected, regrouped 2 ("+f.name(3)+", "+f.name(4)+": spec.decisionStrategy changed)"),
		"wide Normal DecisionUpdate DecisionUpdated: " + fmt.Sprintf(decisions, "wide", "updated: 4 selected, added 1 ("+f.name(5)+")"),
		"wide Warning PlacementMisconfigured DecisionKept: The last decisions are kept: " + mistake,
	}
	kit.Await(t, "the events of the change are stored", func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := f.List(ctx, &list, client.InNamespace(f.namespace)); err != nil {
			return err
		}
		var got []string
		for _, event := range list.Items {
			line := fmt.Sprintf("%s %s %s %s: %s", event.Regarding.Name, event.Type, event.Reason, event.Action, event.Note)
			if event.Series != nil || event.Regarding.Kind != "Placement" || event.ReportingController != "placement-controller" {
				line += fmt.Sprintf(" (series %v, regarding a %s, from %s)", event.Series, event.Regarding.Kind, event.ReportingController)
			}
			if related := event.Related; event.Type == corev1.EventTypeNormal && (related == nil || related.Kind != "PlacementDecision") {
				line += fmt.Sprintf(" (related %v)", related)
			}
			got = append(got, line)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("events (-want +got):\n%s", diff)
		}
		return nil
	})
}

// object returns a placement of the fleet, without a spec.
func (f *fleet) object(name string) *clusterv1beta1.Placement {
	return kit.Placement(f.namespace, name)
}
