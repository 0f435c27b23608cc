package plan_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/internal/delivery/plan"
)

func TestHeldWritesAreReported(t *testing.T) {
	w := newState(t, "p")
	w.selects("p", "a b")
	out := plan.Plan(w.input(t))
	w.set.Status = plan.HoldBack(out.Status, 2, 200_000_000, metav1.NewTime(w.now))
	w.expectCondition(t, "Progressing", "True", "Advancing", "held by the pace of the hub, 200 MB of specs in 5 minutes: 2 clusters; ")
	w.set.Status = plan.HoldBack(out.Status, 0, 200_000_000, metav1.NewTime(w.now))
	w.expectCondition(t, "Progressing", "True", "Advancing", out.Rollouts[0].Message)
}
