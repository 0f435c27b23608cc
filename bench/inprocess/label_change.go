package inprocess

import (
	"errors"
	"fmt"
	"time"

	"github.com/berth-project/berth/engine/fleet"
)

// labelChanges is how many clusters change a label.
const labelChanges = 200

var errNoPlacement = errors.New("no placement is affected")

// measureLabelChanges changes the label "stage" of some clusters, one by one. It returns the time to find the affected
// placements, and their number, both per cluster.
func (e *engineState) measureLabelChanges() (took time.Duration, touched float64, err error) {
	pairs := e.relabelled(labelChanges)
	found := 0
	took, err = measureCPU(func() error {
		for _, pair := range pairs {
			found += len(e.index.ClusterChanged(e.snapshot, pair[0], pair[1]))
		}
		return nil
	})
	if err == nil && found == 0 {
		err = fmt.Errorf("flipping a label: %w", errNoPlacement)
	}
	return took / labelChanges, float64(found) / labelChanges, err
}

// relabelled returns some clusters before and after a change to a stage that no placement selects.
func (e *engineState) relabelled(count int) [][2]*fleet.Cluster {
	pairs := make([][2]*fleet.Cluster, 0, count)
	for i := range count {
		object := e.fleet.Clusters[i*len(e.fleet.Clusters)/count]
		after := object.DeepCopy()
		after.Labels["stage"] = "retired"
		pairs = append(pairs, [2]*fleet.Cluster{fleet.NewCluster(object), fleet.NewCluster(after)})
	}
	return pairs
}
