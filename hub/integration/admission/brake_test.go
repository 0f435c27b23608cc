package admission

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestABrakeKeepsASetFromLosingMostOfItsClusters taints all 12 clusters of a set, as a script with a wrong list does. Six leave at most,
// also when the manager starts again. Who may write the set must not release its brake.
func TestABrakeKeepsASetFromLosingMostOfItsClusters(t *testing.T) {
	requireWebhooks(t)
	stopManager()
	startManager(t)
	t.Cleanup(stopManager)
	administrator, namespace := admin(t), shared.Namespace(t)
	hub := kit.New(t, shared)
	braked := &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	hub.MustCreate(braked)
	administrator.mustCreate(t, binding(namespace, namespace, namespace))
	var clusters []string
	for i := range 12 {
		clusters = append(clusters, fmt.Sprintf("%s-%02d", namespace, i))
		administrator.mustCreate(t, cluster(clusters[i], labels(clusterv1beta2.ClusterSetLabel, namespace)))
	}
	p := kit.Placement(namespace, "p")
	administrator.mustCreate(t, placement(namespace, p.Name, map[string]any{}))
	hub.AwaitSelected(namespace, p.Name, clusters...)
	for _, name := range clusters {
		hub.MustMerge(kit.Cluster(name), `{"spec":{"taints":[{"key":"example.com/drain","effect":"NoSelect"}]}}`)
	}
	stopped := hub.AwaitCondition(braked, clusterv1beta2.ManagedClusterSetConditionBraked+"Taints", metav1.ConditionTrue,
		clusterv1beta2.ReasonTooManyLeave)
	hub.AwaitCondition(p, clusterv1beta1.PlacementConditionHeld, metav1.ConditionTrue, clusterv1beta1.ReasonBraked)
	kept := kit.Must(hub.Selected(t.Context(), namespace, p.Name)).In(t)
	if len(kept) < 6 {
		t.Errorf("%v are selected, want at least six", kept)
	}
	hub.MustMerge(p, `{"spec":{"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchLabels":{"regoin":"x"}}}}]}}`)
	hub.AwaitObservedCondition(p, clusterv1beta1.PlacementConditionMisconfigured, metav1.ConditionTrue, clusterv1beta1.ReasonReferenceHeld)
	hub.AwaitSelected(namespace, p.Name, kept...)
	hub.MustMerge(p, `{"spec":{"predicates":null}}`)
	hub.AwaitObservedCondition(p, clusterv1beta1.PlacementConditionMisconfigured, metav1.ConditionFalse,
		clusterv1beta1.ReasonSucceedConfigured)
	hub.AwaitSelected(namespace, p.Name, kept...)
	hub.MustDelete(kit.Placement(namespace, p.Name)) // what is made anew with the same spec is no edit
	administrator.mustCreate(t, placement(namespace, p.Name, map[string]any{}))
	hub.AwaitCondition(p, clusterv1beta1.PlacementConditionHeld, metav1.ConditionTrue, clusterv1beta1.ReasonBraked)
	hub.AwaitSelected(namespace, p.Name, kept...)
	stopManager()
	startManager(t, "--withdrawal-grace=0")
	newcomer := namespace + "-new"
	administrator.mustCreate(t, cluster(newcomer, labels(clusterv1beta2.ClusterSetLabel, namespace)))
	hub.AwaitSelected(namespace, p.Name, append(kept, newcomer)...)
	release := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, clusterv1beta2.BrakeReleasedAnnotation,
		stopped.LastTransitionTime.UTC().Format("2006-01-02T15:04:05Z"))
	writer := newUser(t, "writer", []rule{allVerbsOn("managedclustersets")})
	check(t, writer.merge(t.Context(), set(namespace, nil), release), http.StatusForbidden, fmt.Sprintf(
		`managedclustersets.cluster.open-cluster-management.io "%s" is forbidden: ValidatingAdmissionPolicy 'berth-brakes' with binding `+
			`'berth-brakes' denied request: a brake is released only with its permission: this needs the verb "update" on `+
			`"managedclustersets/brake" in the API group "cluster.open-cluster-management.io" with the name of the set as resourceName`, namespace))
	check(t, writer.merge(t.Context(), set(namespace, nil), `{"metadata":{"annotations":{"note":"written"}}}`), 0, "")
	releaser := newUser(t, "releaser", []rule{allVerbsOn("managedclustersets"), grantNamed("update", "managedclustersets/brake", namespace)})
	only := newUser(t, "only", []rule{
		{Verbs: []string{"get", "patch"}, APIGroups: []string{clusterv1beta2.GroupName}, Resources: []string{"managedclustersets"}},
		grantNamed("update", "managedclustersets/brake", namespace),
	})
	refused := fmt.Sprintf(`managedclustersets.cluster.open-cluster-management.io "%s" is forbidden: ValidatingAdmissionPolicy `+
		`'berth-brake-releasers' with binding 'berth-brake-releasers' denied request: to release a brake, only the annotations `+
		`brake-released and brake-released-reason are written: another change needs the verb "update" on "managedclustersets" in the API `+
		`group "cluster.open-cluster-management.io"`, namespace)
	for _, other := range []string{
		`{"spec":{"clusterSelector":{"selectorType":"LabelSelector","labelSelector":{"matchLabels":{"a":"b"}}}}}`,
		`{"metadata":{"annotations":{"berth-project.io/confirmed-generation":"1"}}}`, `{"metadata":{"annotations":{"note":null}}}`,
		`{"metadata":{"labels":{"a":"b"}}}`, `{"metadata":{"finalizers":["example.com/keep"]}}`,
	} {
		check(t, only.merge(t.Context(), set(namespace, nil), other), http.StatusForbidden, refused)
	}
	check(t, releaser.merge(t.Context(), set(namespace, nil), `{"metadata":{"annotations":{"note":"written again"}}}`), 0, "")
	check(t, only.merge(t.Context(), set(namespace, nil), release), 0, "")
	hub.AwaitSelected(namespace, p.Name, newcomer)
	kit.Await(t, "the placement no longer reports the brake", func(ctx context.Context) error {
		if err := hub.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
			return err
		}
		if held := meta.FindStatusCondition(p.Status.Conditions, clusterv1beta1.PlacementConditionHeld); held != nil {
			return fmt.Errorf("%w: %v", kit.ErrNotYet, held)
		}
		return nil
	})
	hub.AwaitCondition(braked, clusterv1beta2.ManagedClusterSetConditionBraked+"Taints", metav1.ConditionFalse,
		clusterv1beta2.ReasonBrakeEnded)
}
