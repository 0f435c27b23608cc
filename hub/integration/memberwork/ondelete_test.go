package memberwork

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestWorkloadsOfADeletedCluster: what becomes of them is recorded on the cluster. Those of a denied cluster stay, also while its agent
// still runs.
func TestWorkloadsOfADeletedCluster(t *testing.T) {
	hubtest.StartManager(t, hub, hubtest.ManagerOptions{Args: []string{"--controllers=*,acceptance"}})
	for sentence, test := range map[string]struct {
		onDelete      string
		denied, stays bool
	}{
		"Remove":             {onDelete: clusterv1.OnDeleteRemove},
		"Keep":               {onDelete: clusterv1.OnDeleteKeep, stays: true},
		"denied, and Remove": {onDelete: clusterv1.OnDeleteRemove, denied: true, stays: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			f := newFixture(t)
			f.hub.MustMerge(kit.Namespace(f.cluster), `{"metadata":{"labels":{"`+clusterv1.ClusterNameLabelKey+`":"`+f.cluster+`"}}}`)
			cluster := kit.AcceptedCluster(f.cluster)
			cluster.Annotations = map[string]string{clusterv1.OnDeleteAnnotationKey: test.onDelete}
			f.hub.MustCreate(cluster)
			f.hub.AwaitCondition(cluster, clusterv1.ManagedClusterConditionHubAccepted, metav1.ConditionTrue,
				clusterv1.ReasonHubClusterAdminAccepted)
			work := kit.Work(f.cluster, "w", fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":%q,"name":"c"}}`, f.cluster))
			f.hub.MustCreate(work)
			f.hub.AwaitObject(work, "the work is applied", func() error {
				if !meta.IsStatusConditionTrue(work.Status.Conditions, workv1.WorkApplied) {
					return fmt.Errorf("conditions %v", work.Status.Conditions)
				}
				return nil
			})
			before := kit.ConfigMap(f.cluster, "c")
			f.on.MustRead(before)

			if test.denied {
				f.hub.MustMerge(cluster, `{"spec":{"hubAcceptsClient":false}}`)
				f.hub.AwaitCondition(cluster, clusterv1.ManagedClusterConditionHubAccepted, metav1.ConditionFalse,
					clusterv1.ReasonHubClusterAdminDenied)
			}
			f.hub.MustDelete(cluster)
			f.hub.AwaitGone(work, cluster)
			if !test.stays {
				f.on.AwaitGone(before)
				return
			}
			after := &corev1.ConfigMap{}
			kit.Await(t, "the object has no owner", func(ctx context.Context) error {
				if err := f.on.Get(ctx, client.ObjectKeyFromObject(before), after); err != nil {
					return err
				}
				if after.UID != before.UID || len(after.OwnerReferences) > 0 {
					return fmt.Errorf("UID %s and owners %v, want the UID %s", after.UID, after.OwnerReferences, before.UID)
				}
				return nil
			})
		})
	}
}
