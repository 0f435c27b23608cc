package rollouts

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/rollout"
)

// Unproven is a set whose rollout will stand still once Berth runs it, since nothing shows that a mandatory group has passed.
type Unproven struct {
	Set, Placement string
	// Message is what the status of the set will report, and Remedy what to do then.
	Message, Remedy string
}

// WillHold returns the sets without a record of their rollout whose mandatory groups cannot be shown to have passed: those that another
// version or another controller has rolled out.
func WillHold(ctx context.Context, hub client.Reader, now time.Time) ([]Unproven, error) {
	var out []Unproven
	sets := &workv1alpha1.ManifestWorkReplicaSetList{}
	for {
		err := hub.List(ctx, sets, client.Limit(pageSize), client.Continue(sets.Continue))
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return nil, nil // without the definition there is no set
		} else if err != nil {
			return nil, fmt.Errorf("listing sets of works: %w", err)
		}
		for i := range sets.Items {
			found, err := willHold(ctx, hub, &sets.Items[i], now)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
		if sets.Continue == "" {
			return out, nil
		}
	}
}

func willHold(ctx context.Context, hub client.Reader, set *workv1alpha1.ManifestWorkReplicaSet, now time.Time) ([]Unproven, error) {
	mandatory := false
	for i := range set.Spec.PlacementRefs {
		mandatory = mandatory || len(rollout.MandatoryGroups(&set.Spec.PlacementRefs[i].RolloutStrategy.RolloutStrategy)) > 0
	}
	if set.Status.Rollout != nil || !mandatory {
		return nil, nil
	}
	delivery, err := Read(ctx, hub, client.ObjectKeyFromObject(set))
	if err != nil {
		return nil, err
	}
	report, err := NewReport(delivery, now)
	if err != nil {
		return nil, err
	}
	var out []Unproven
	for _, placement := range report.Placements {
		if placement.Phase == string(rollout.PhaseUnproven) {
			out = append(out, Unproven{Set: report.Set, Placement: placement.Name, Message: placement.Message, Remedy: placement.Next})
		}
	}
	return out, nil
}
