package placement

import (
	"context"
	"fmt"
	"testing"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// idle waits until the manager has made at least a number of evaluations and its queue is empty. It returns the metrics.
func (m *manager) idle(t *testing.T, evaluations float64) hubtest.Metrics {
	t.Helper()
	var out hubtest.Metrics
	kit.Await(t, "the manager has made at least a number of evaluations and its queue is empty", func(ctx context.Context) error {
		read, err := m.ReadMetrics(ctx)
		if err != nil {
			return err
		}
		out = read
		done, waiting := read.Sum("berth_placement_evaluations_total"), read.Sum("workqueue_depth")
		active := read.Sum("controller_runtime_active_workers")
		if done < evaluations || waiting > 0 || active > 0 {
			return fmt.Errorf("%v evaluations of %v, %v waiting, %v active", done, evaluations, waiting, active)
		}
		return nil
	})
	return out
}

// writes counts the completed writes to Berth's API group, by verb and resource.
func writes(t *testing.T) map[string]float64 {
	t.Helper()
	return hubtest.Writes(shared.ReadMetrics(t), func(group, _ string) bool { return group == clusterv1beta1.GroupName })
}
