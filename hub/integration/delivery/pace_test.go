package delivery

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/internal/delivery/plan"
)

// TestALargeChangeIsPaced runs a manager that may write the bytes of about ten works at once. The set reports the others, and they are not
// written.
func TestALargeChangeIsPaced(t *testing.T) {
	const clusters, atOnce = 30, 10
	f := newFleet(t, clusters)
	f.decide("p", f.clusters)
	size := len(manifests("1").Manifests[0].Raw)
	hubtest.StartManager(t, shared, hubtest.ManagerOptions{Args: []string{
		"--controllers=replicaset",
		fmt.Sprintf("--fanout-bytes=%d", atOnce*size),
	}})
	set := f.newSet("web", "p")
	held := ""
	f.AwaitObject(set, "the set reports that it holds", func() error {
		if condition := meta.FindStatusCondition(set.Status.Conditions, workv1alpha1.Progressing); condition != nil &&
			strings.Contains(condition.Message, plan.PaceHold) {
			held = condition.Message
			return nil
		}
		return fmt.Errorf("%+v: %w", set.Status.Conditions, errNotYet)
	})
	works, err := f.works(t.Context(), set)
	if err != nil || len(works) < atOnce || len(works) >= clusters {
		t.Errorf("%d works with %q, %v", len(works), held, err)
	}
}
