package holds

import (
	"context"
	"fmt"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/kube/hold"
)

// releasePlacement confirms the last edit of a placement, by the generation that is stored now.
func (o *releaseOptions) releasePlacement(ctx context.Context, name string) error {
	hub, key, err := rollouts.Caller{Flags: o.flags, ErrOut: o.streams.ErrOut}.Connect(name)
	if err != nil {
		return err
	}
	reason, err := rollouts.TrimReason(o.reason)
	if err != nil {
		return err
	}
	placement := &clusterv1beta1.Placement{}
	if err := hub.Get(ctx, key, placement); err != nil {
		return fmt.Errorf("reading the placement %s: %w", key, err)
	}
	if len(hold.OfPlacement(placement)) == 0 || o.hold != "" && o.hold != string(hold.Edit) {
		return fmt.Errorf("no edit of the placement %s is held: `kubectl berth holds -n %s` lists the holds", key, key.Namespace)
	}
	before := placement.DeepCopy()
	if placement.Annotations == nil {
		placement.Annotations = map[string]string{}
	}
	placement.Annotations[clusterv1beta1.ConfirmedGenerationAnnotation] = strconv.FormatInt(placement.Generation, 10)
	placement.Annotations[clusterv1beta1.ConfirmedReasonAnnotation] = reason
	if err := hub.Patch(ctx, placement, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("confirming the edit of the placement %s: %w", key, err)
	}
	printer.Printf(o.streams.Out, "placement/%s: Edit is released: its clusters leave by generation %d of its spec\n",
		name, placement.Generation)
	return nil
}
