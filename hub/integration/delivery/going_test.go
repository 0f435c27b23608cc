package delivery

import (
	"fmt"
	"strings"
	"testing"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestNothingNewIsDeliveredByARightThatIsGoing deletes a set and changes a template within its grace.
func TestNothingNewIsDeliveredByARightThatIsGoing(t *testing.T) {
	hubtest.StartManager(t, shared, hubtest.ManagerOptions{Args: []string{"--controllers=placement,replicaset", "--withdrawal-grace=2m"}})
	f := newFleet(t, 2)
	f.MustCreateTemporary(kit.Set(f.namespace))
	for _, name := range f.clusters {
		f.MustCreateTemporary(kit.AcceptedCluster(name, clusterv1beta2.ClusterSetLabel, f.namespace))
	}
	f.MustCreate(kit.Binding(f.namespace, f.namespace), kit.Placement(f.namespace, "p"))
	works := f.newSet("web", "p={type: All}")
	f.awaitWorks(works, "1", f.clusters...)
	f.MustDelete(kit.Set(f.namespace))
	f.change(works, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		set.Spec.ManifestWorkTemplate.Workload = manifests("2")
	})
	f.AwaitObject(works, "the status tells what the new template waits for", func() error {
		for _, condition := range works.Status.Conditions {
			if strings.Contains(condition.Message, "the ManagedClusterSet "+f.namespace+" or its binding is gone") {
				return nil
			}
		}
		return fmt.Errorf("conditions %+v", works.Status.Conditions)
	})
	f.awaitWorks(works, "1", f.clusters...)
	f.MustCreateTemporary(kit.Set(f.namespace))
	f.awaitWorks(works, "2", f.clusters...)
}
