package placement

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/placement/live"
)

// reportMissing writes into a placement that it is not decided while a definition is missing. The next decision takes it back.
func (r *reconciler) reportMissing(ctx context.Context, key fleet.Key) error {
	if r.definitions == nil {
		return nil
	}
	missing := r.definitions.Missing()
	in, known := r.stored.Peek(key, r.clock.Now())
	if len(missing) == 0 || !known || !live.Managed(in.Stored.Placement) {
		return nil
	}
	out := in.Stored.Placement.DeepCopy()
	changed := meta.SetStatusCondition(&out.Status.Conditions, metav1.Condition{
		Type: clusterv1beta1.PlacementConditionHeld, Status: metav1.ConditionTrue, Reason: clusterv1beta1.ReasonDefinitionMissing,
		Message: fmt.Sprintf("The hub lacks %s, or objects that went with it. Nothing is decided or delivered until they are back, and what is "+
			"selected stays", strings.Join(missing, ", ")),
		ObservedGeneration: out.Generation, LastTransitionTime: metav1.NewTime(r.clock.Now()),
	})
	if !changed {
		return nil
	}
	err := r.client.Status().Update(ctx, out)
	switch {
	case apply.IsConflict(err):
		return nil // the next attempt reads what the other client wrote
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("reporting in the placement %s that a definition is missing: %w", key, err)
	}
	if err == nil {
		r.stored.AfterStatusWrite(out)
	}
	return nil
}
