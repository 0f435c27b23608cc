package placement

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/delivery/plan"
)

// TestNothingNewIsDeliveredByARightThatIsGoing deletes a set and changes a template within its grace.
func TestNothingNewIsDeliveredByARightThatIsGoing(t *testing.T) {
	start(t, options{Args: []string{"--controllers=placement,replicaset", "--withdrawal-grace=2m"}})
	c := kit.New(t, shared)
	namespace := shared.Namespace(t)
	set, clusters := kit.Set(namespace), []string{namespace + "-a", namespace + "-b"}
	c.MustCreateTemporary(set)
	for _, name := range clusters {
		c.MustCreateTemporary(kit.AcceptedCluster(name, clusterv1beta2.ClusterSetLabel, namespace))
		c.MustCreateMissing(kit.ClusterNamespace(name))
	}
	template := func(value string) []workv1.Manifest {
		return []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"web"},"data":{"value":"` + value + `"}}`,
		)}}}
	}
	works := kit.WorkSet(namespace, "web")
	works.Spec.ManifestWorkTemplate.Workload.Manifests = template("1")
	works.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: "p"}}
	c.MustCreate(kit.Binding(namespace, namespace), kit.Placement(namespace, "p"), works)
	delivered := func(value string) func(context.Context) error {
		return func(ctx context.Context) error {
			list := &workv1.ManifestWorkList{}
			if err := c.List(ctx, list, client.MatchingLabels{workv1.ReplicaSetLabel: plan.SetLabelValue(namespace, "web")}); err != nil {
				return err
			}
			found := 0
			for _, work := range list.Items {
				if strings.Contains(string(work.Spec.Workload.Manifests[0].Raw), `"value":"`+value+`"`) {
					found++
				}
			}
			if found != len(clusters) {
				return fmt.Errorf("%d of %d works have the value %s", found, len(clusters), value)
			}
			return nil
		}
	}
	c.Await("the first template is delivered", delivered("1"))
	c.MustDelete(kit.Set(namespace))
	c.AwaitChanged(works, func() { works.Spec.ManifestWorkTemplate.Workload.Manifests = template("2") })
	c.AwaitObject(works, "the status tells what the new template waits for", func() error {
		for _, condition := range works.Status.Conditions {
			if strings.Contains(condition.Message, "the ManagedClusterSet "+namespace+" is gone") {
				return nil
			}
		}
		return fmt.Errorf("conditions %+v", works.Status.Conditions)
	})
	kit.NoError(t, delivered("1")(t.Context()))
	c.MustCreateTemporary(kit.Set(namespace))
	c.Await("the second template is delivered once the set is back", delivered("2"))
	for _, name := range clusters {
		c.MustDelete(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: plan.WorkName(namespace, "web")}})
	}
}
