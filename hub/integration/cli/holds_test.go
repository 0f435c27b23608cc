package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/cli"
)

// TestHolds: what stands still is listed with the command that ends it, and continues after that command.
func TestHolds(t *testing.T) {
	t.Setenv("COLUMNS", "400") // no text is wrapped
	s := newDeliveryFixture(t)
	s.startViews(t, "replicaset")
	s.create(t, s.set(t, "{type: Progressive, progressive: {maxConcurrency: 1, mandatoryDecisionGroups: [{groupName: canary}]}}", "1"))
	list := []string{"holds", "-n", s.namespace}
	release := func(more ...string) []string {
		return append([]string{"holds", "release", "manifestworkreplicaset/api", "-n", s.namespace}, more...)
	}
	object := "object   manifestworkreplicaset/api in " + s.namespace
	ends := "ends with: kubectl berth holds release manifestworkreplicaset/api -n " + s.namespace + " --reason WHY\n"
	expect := func(args []string, code int, text string) {
		t.Helper()
		if got := run(t.Context(), args...); got.code != code || !strings.Contains(got.out+got.errOut, text) {
			t.Errorf("%q: %+v, want exit code %d and %q", args, got, code, text)
		}
	}
	awaitOutput(t, list, "hold     UnprovenGroup", object, "No cluster of the mandatory group with groupName canary can prove the change",
		ends)
	expect([]string{"holds", "-n", "default"}, cli.ExitOK, "nothing is held back\n")
	expect([]string{"holds", "-A", "-o", "json"}, cli.ExitOK, `"type": "UnprovenGroup"`)
	expect(release(), cli.ExitRefused, "no reason is given")
	expect(release("--reason", "a test", "--hold", "Breach"), cli.ExitRefused, "nothing is held back of the set "+s.namespace+"/api by Breach")
	expect(release("--reason", "a test", "--as", s.deliveryTenant(t)), cli.ExitRefused, "cannot")
	expect(release("--reason", "a test"), cli.ExitOK, "UnprovenGroup is released: the group with groupName canary of "+
		"Placement fleet is passed\n")

	a, b := s.clusters()[0], s.clusters()[1]
	s.report(t, a, "spec.selector: field is immutable")
	awaitOutput(t, list, "hold     Breach", "1 cluster of 3 failed", ends)
	expect(release("--reason", "a test"), cli.ExitOK, "Breach is released: 1 failure forgiven: "+a+"\n")
	s.report(t, b, "")
	s.report(t, s.hidden, "")
	awaitOutput(t, []string{"rollout", "status", "api", "-n", s.namespace}, "Finished")
	expect(list, cli.ExitOK, "nothing is held back\n")
	expect(release("--reason", "a test"), cli.ExitRefused, "nothing is held back of the set "+s.namespace+"/api")
}

// TestReleaseOfTwoHolds: a set that a breach and a mandatory group hold is released from both at once, and continues.
func TestReleaseOfTwoHolds(t *testing.T) {
	t.Setenv("COLUMNS", "400")
	s := newDeliveryFixture(t)
	s.startViews(t, "replicaset")
	set := s.set(t, "{type: Progressive, progressive: {maxConcurrency: 1}}", "1")
	s.create(t, set)
	list := []string{"holds", "-n", s.namespace}
	a, b := s.clusters()[0], s.clusters()[1]
	s.report(t, a, "spec.selector: field is immutable")
	awaitOutput(t, list, "hold     Breach")
	stored := &workv1alpha1.ManifestWorkReplicaSet{}
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(set), stored); err != nil {
		t.Fatal(err)
	}
	strategy := stored.Spec.PlacementRefs[0].RolloutStrategy.Progressive
	strategy.MandatoryDecisionGroups.MandatoryDecisionGroups = []clusterv1alpha1.MandatoryDecisionGroup{{GroupName: "canary"}}
	if err := s.client.Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	awaitOutput(t, list, "hold     Breach", "hold     UnprovenGroup")
	got := run(t.Context(), "holds", "release", "manifestworkreplicaset/api", "-n", s.namespace, "--reason", "a test")
	for _, want := range []string{
		"manifestworkreplicaset/api: Breach is released: 1 failure forgiven: " + a + "\n",
		"manifestworkreplicaset/api: UnprovenGroup is released: the group with groupName canary of Placement fleet is passed\n",
	} {
		if got.code != cli.ExitOK || !strings.Contains(got.out, want) {
			t.Errorf("%+v, want %q", got, want)
		}
	}
	s.report(t, b, "")
	s.report(t, s.hidden, "")
	awaitOutput(t, []string{"rollout", "status", "api", "-n", s.namespace}, "Finished")
}

// TestDecisionsSurviveAReplacement: a set that is deleted and created again, as `kubectl replace --force` does, is still paused.
func TestDecisionsSurviveAReplacement(t *testing.T) {
	t.Setenv("COLUMNS", "400")
	s := newDeliveryFixture(t)
	s.startViews(t, "replicaset")
	s.create(t, s.set(t, "{type: Progressive, progressive: {maxConcurrency: 1}}", "1"))
	if got := run(t.Context(), "rollout", "pause", "api", "-n", s.namespace, "--reason", "Friday"); got.code != cli.ExitOK {
		t.Fatalf("%+v", got)
	}
	set := &workv1alpha1.ManifestWorkReplicaSet{}
	key := client.ObjectKey{Namespace: s.namespace, Name: "api"}
	awaitPaused := func() {
		t.Helper()
		kit.Await(t, "the manager holds the set by the pause", func(ctx context.Context) error {
			if err := s.client.Get(ctx, key, set); err != nil {
				return err
			}
			if found := meta.FindStatusCondition(set.Status.Conditions, workv1alpha1.Progressing); found == nil || found.Reason != "Paused" {
				return fmt.Errorf("%w: %+v", errNotYet, found)
			}
			return nil
		})
		awaitOutput(t, []string{"rollout", "status", "api", "-n", s.namespace}, "Friday", "Paused")
	}
	awaitPaused()
	if err := s.client.Delete(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	kit.Await(t, "the set is gone", func(ctx context.Context) error {
		if err := s.client.Get(ctx, key, set); !apierrors.IsNotFound(err) {
			return fmt.Errorf("%w: reading it: %w", errNotYet, err)
		}
		return nil
	})
	s.create(t, s.set(t, "{type: Progressive, progressive: {maxConcurrency: 1}}", "1"))
	awaitPaused()
}

// TestTheHoldOfAClusterSet: the selector of a set that is held is listed beside what the user may list, and is released by its generation.
func TestTheHoldOfAClusterSet(t *testing.T) {
	t.Setenv("COLUMNS", "400")
	s := newDeliveryFixture(t)
	set := &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: s.namespace + "-held"}}
	s.create(t, set)
	set.Status.Conditions = []metav1.Condition{{
		Type: clusterv1beta2.ManagedClusterSetConditionSelectorHeld, Status: metav1.ConditionTrue,
		Reason: clusterv1beta2.ReasonSelectsNothing, Message: "The selector selects nothing.", LastTransitionTime: metav1.Now(),
		ObservedGeneration: set.Generation,
	}}
	s.client.MustUpdateStatus(set)
	release := []string{"holds", "release", "managedclusterset/" + set.Name, "--hold", "Selector"}
	got := run(t.Context(), "holds", "-A")
	for _, want := range []string{
		"hold     Selector\nobject   managedclusterset/" + set.Name + "\n",
		"ends with: kubectl berth " + strings.Join(release, " ") + " --reason WHY\n",
	} {
		if got.code != cli.ExitOK || !strings.Contains(got.out, want) {
			t.Errorf("the output lacks %q: %+v", want, got)
		}
	}
	if got := run(t.Context(), "holds", "-n", s.namespace); strings.Contains(got.out, "Selector") {
		t.Errorf("a set is no object of a namespace: %+v", got)
	}
	got = run(t.Context(), append(release, "--reason", "a test")...)
	if want := fmt.Sprintf("Selector is released: its members leave by generation %d of its spec", set.Generation); got.code != cli.ExitOK ||
		!strings.Contains(got.out, want) {
		t.Errorf("%+v, want %q", got, want)
	}
	s.client.MustRead(set)
	if !clusterv1beta2.SelectorConfirmed(set) {
		t.Errorf("the annotations are %v", set.Annotations)
	}
}
