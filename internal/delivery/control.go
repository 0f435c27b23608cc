package delivery

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
)

// control returns what people decided about the rollout of a set; nil for nothing, and for a hub without the definition.
func (r *reconciler) control(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet) (*rolloutv1alpha1.RolloutControl, error) {
	if !r.options.RolloutControls() {
		return nil, nil //nolint:nilnil // nothing can be decided
	}
	out := &rolloutv1alpha1.RolloutControl{}
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(set), out); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil //nolint:nilnil // nothing was decided
		}
		return nil, fmt.Errorf("reading RolloutControl %s/%s: %w", set.Namespace, set.Name, err)
	}
	return out, nil
}

// announce records an event for each new decision, once the status has the generation of the control that it is of. A manager that starts
// takes the decisions of that generation as known. What was decided while no manager ran has its events then; a decision that was added to
// others meanwhile repeats theirs.
func (r *reconciler) announce(ctx context.Context, s *setState, set *workv1alpha1.ManifestWorkReplicaSet,
	control *rolloutv1alpha1.RolloutControl,
) {
	var spec *rolloutv1alpha1.RolloutControlSpec
	generation := int64(0)
	if control != nil {
		spec, generation = &control.Spec, control.Generation
	}
	before, known := s.announced(set.UID, spec)
	if !known && set.Status.ControlGeneration == generation {
		return
	}
	verified, err := r.options.UsersVerified(ctx)
	if err != nil {
		log.FromContext(ctx).Info("whether the users of decisions are verified is not known, so events do not name them", "cause", err.Error())
	}
	for _, event := range decisionEvents(before, spec, verified && err == nil) {
		r.recorder.Eventf(set, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
	}
}
