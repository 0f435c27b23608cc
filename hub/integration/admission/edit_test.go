package admission

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// editedPlacement starts a manager that holds edits. It returns a placement that has selected four clusters with a label, and a function
// that edits it and returns the warnings.
func editedPlacement(t *testing.T, label string) (
	hub *kit.Client, p *clusterv1beta1.Placement, clusters []string, edit func(change func()) []string,
) {
	t.Helper()
	requireWebhooks(t)
	stopManager()
	startManager(t, "--emptying-edits=hold")
	t.Cleanup(stopManager)
	administrator, namespace := admin(t), shared.Namespace(t)
	hub = kit.New(t, shared)
	administrator.mustCreate(t, set(namespace, nil))
	administrator.mustCreate(t, binding(namespace, namespace, namespace))
	for i := range 4 {
		clusters = append(clusters, fmt.Sprintf("%s-%d", namespace, i))
		administrator.mustCreate(t, cluster(clusters[i], labels(clusterv1beta2.ClusterSetLabel, namespace, label, "live")))
	}
	administrator.mustCreate(t, placement(namespace, "p", map[string]any{}))
	hub.AwaitSelected(namespace, "p", clusters...)
	administrator.takeWarnings()
	p = kit.Placement(namespace, "p")
	return hub, p, clusters, func(change func()) []string {
		t.Helper()
		hub.MustGet(client.ObjectKeyFromObject(p), p)
		before := p.DeepCopy()
		change()
		patch := kit.Must(client.MergeFrom(before).Data(p)).In(t)
		check(t, administrator.merge(t.Context(), placement(namespace, "p", map[string]any{}), string(patch)), 0, "")
		return administrator.takeWarnings()
	}
}

// TestAnEditThatEmptiesAPlacementIsHeld misspells a label in a placement that has four clusters.
func TestAnEditThatEmptiesAPlacementIsHeld(t *testing.T) {
	hub, p, clusters, edit := editedPlacement(t, "env")
	namespace := p.Namespace
	typo := func() {
		p.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
			LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"env": "lvie"}},
		}}}
	}
	want := []string{"this edit leaves none of 4 selected clusters; they stay until it is confirmed: " +
		"kubectl berth holds release placement/p -n " + namespace + " --reason WHY"}
	if diff := cmp.Diff(want, edit(typo)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	hub.AwaitObservedCondition(p, clusterv1beta1.PlacementConditionEditHeld, metav1.ConditionTrue, clusterv1beta1.ReasonEmptiesPlacement)
	hub.AwaitSelected(namespace, "p", clusters...)
	want = []string{"this edit takes away 3 of 4 selected clusters"}
	if diff := cmp.Diff(want, edit(func() { p.Spec.Predicates, p.Spec.NumberOfClusters = nil, new(int32(1)) })); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	hub.AwaitSelected(namespace, "p", clusters[0])
	edit(typo)
	hub.AwaitObservedCondition(p, clusterv1beta1.PlacementConditionEditHeld, metav1.ConditionTrue, clusterv1beta1.ReasonEmptiesPlacement)
	edit(func() {
		p.Annotations = map[string]string{clusterv1beta1.ConfirmedGenerationAnnotation: fmt.Sprint(p.Generation)}
	})
	hub.AwaitSelected(namespace, "p")
}

// TestAnEditThatNamesNothingIsHeld misspells a label that every cluster has.
func TestAnEditThatNamesNothingIsHeld(t *testing.T) {
	hub, p, clusters, edit := editedPlacement(t, "environment")
	namespace := p.Namespace
	warnings := edit(func() {
		p.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
			LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"environmentt": "live"}},
		}}}
	})
	unknown := `no cluster in reach has the label "environmentt" (4 have "environment")`
	held := fmt.Sprintf("this edit names what no cluster in reach has; the %d selected clusters stay until a cluster has it, or: "+
		"kubectl berth holds release placement/p -n %s --hold Reference --reason WHY", len(clusters), namespace)
	for _, want := range []string{unknown, held} {
		if !slices.Contains(warnings, want) {
			t.Errorf("the warnings are %q, want one of them %q", warnings, want)
		}
	}
	hub.AwaitObservedCondition(p, clusterv1beta1.PlacementConditionMisconfigured, metav1.ConditionTrue, clusterv1beta1.ReasonReferenceHeld)
	hub.AwaitSelected(namespace, "p", clusters...)
	admin(t).mustCreate(t, cluster(namespace+"-right", labels(clusterv1beta2.ClusterSetLabel, namespace, "environmentt", "live")))
	hub.AwaitSelected(namespace, "p", namespace+"-right")
	hub.AwaitObservedCondition(p, clusterv1beta1.PlacementConditionMisconfigured, metav1.ConditionFalse,
		clusterv1beta1.ReasonSucceedConfigured)
}

// TestAMistypedNameIsWarnedOf lists clusters by name, one of them with a name that no cluster has.
func TestAMistypedNameIsWarnedOf(t *testing.T) {
	hub, p, clusters, edit := editedPlacement(t, "environment")
	last := len(clusters) - 1
	warnings := edit(func() {
		p.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
			ClusterNames: append(slices.Clone(clusters[:last]), clusters[last]+"x"),
		}}}
	})
	want := []string{fmt.Sprintf(`no cluster in reach has the name "%sx" (one is "%[1]s")`, clusters[last])}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	hub.AwaitSelected(p.Namespace, "p", clusters[:last]...)
}

// TestAnEditThatTakesEveryMemberOfASetAwayIsHeld misspells a label in the selector of a set that has four clusters.
func TestAnEditThatTakesEveryMemberOfASetAwayIsHeld(t *testing.T) {
	requireWebhooks(t)
	stopManager()
	startManager(t, "--withdrawal-grace=0")
	t.Cleanup(stopManager)
	administrator, namespace := admin(t), shared.Namespace(t)
	hub := kit.New(t, shared)
	of := func(key, value string) clusterv1beta2.ManagedClusterSelector {
		return clusterv1beta2.ManagedClusterSelector{
			SelectorType: clusterv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}},
		}
	}
	edited := &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	edited.Spec.ClusterSelector = of("environment", namespace)
	hub.MustCreate(edited)
	administrator.mustCreate(t, binding(namespace, namespace, namespace))
	var clusters []string
	for i := range 4 {
		clusters = append(clusters, fmt.Sprintf("%s-%d", namespace, i))
		administrator.mustCreate(t, cluster(clusters[i], labels("environment", namespace)))
	}
	administrator.mustCreate(t, placement(namespace, "p", map[string]any{}))
	hub.AwaitSelected(namespace, "p", clusters...)
	administrator.takeWarnings()
	edit := func(change func()) []string {
		t.Helper()
		hub.MustGet(client.ObjectKeyFromObject(edited), edited)
		before := edited.DeepCopy()
		change()
		patch := kit.Must(client.MergeFrom(before).Data(edited)).In(t)
		check(t, administrator.merge(t.Context(), set(namespace, nil), string(patch)), 0, "")
		return administrator.takeWarnings()
	}
	typo := func() { edited.Spec.ClusterSelector = of("environmentt", namespace) }
	want := []string{"this edit leaves none of 4 clusters in the set; they stay until a cluster matches or it is confirmed: " +
		"kubectl berth holds release managedclusterset/" + namespace + " --hold Selector --reason WHY"}
	if diff := cmp.Diff(want, edit(typo)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	hub.AwaitObservedCondition(edited, clusterv1beta2.ManagedClusterSetConditionSelectorHeld, metav1.ConditionTrue,
		clusterv1beta2.ReasonSelectsNothing)
	hub.AwaitSelected(namespace, "p", clusters...)
	stopManager()
	startManager(t, "--withdrawal-grace=0")
	administrator.mustCreate(t, cluster(namespace+"-other", labels("environment", namespace)))
	hub.AwaitSelected(namespace, "p", append(clusters, namespace+"-other")...)
	edit(func() {
		edited.Annotations = map[string]string{clusterv1beta2.ConfirmedSelectorAnnotation: fmt.Sprint(edited.Generation)}
	})
	hub.AwaitSelected(namespace, "p")
	edit(func() { edited.Spec.ClusterSelector = of("environment", namespace) })
	hub.AwaitSelected(namespace, "p", append(clusters, namespace+"-other")...)
	edit(typo)
	administrator.mustCreate(t, cluster(namespace+"-right", labels("environmentt", namespace)))
	hub.AwaitSelected(namespace, "p", namespace+"-right")
}

// TestADeletionIsWarnedOf deletes a set, and a binding, by which a placement has four clusters.
func TestADeletionIsWarnedOf(t *testing.T) {
	hub, p, _, _ := editedPlacement(t, "env")
	hub.Await("the status counts the clusters, which the warning of a placement is from", func(ctx context.Context) error {
		if err := hub.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
			return err
		}
		if p.Status.NumberOfSelectedClusters != 4 {
			return fmt.Errorf("it counts %d", p.Status.NumberOfSelectedClusters)
		}
		return nil
	})
	person, controller := admin(t), admin(t).as(t, "system:serviceaccount:kube-system:namespace-controller", "system:masters",
		"system:serviceaccounts:kube-system")
	const unless, lost = ", unless it is made anew within the grace of the hub", "1 placement of 1 namespace loses 4 clusters"
	for name, of := range map[string]struct {
		object  map[string]any
		name    string
		warning string
	}{
		"a set":     {set(p.Namespace, nil), p.Namespace, lost + unless},
		"a binding": {binding(p.Namespace, p.Namespace, p.Namespace), p.Namespace, lost + unless},
		"a placement": {
			placement(p.Namespace, p.Name, map[string]any{}), p.Name,
			"this deletion takes away 4 selected clusters, unless the placement is made anew within the grace of the hub",
		},
	} {
		for who, want := range map[*user][]string{person: {of.warning}, controller: nil} {
			dryRun := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
			kit.NoError(t, who.resourceFor(of.object).Delete(t.Context(), of.name, dryRun))
			if diff := cmp.Diff(want, who.takeWarnings()); diff != "" {
				t.Errorf("%s: warnings (-want +got):\n%s", name, diff)
			}
		}
	}
}
