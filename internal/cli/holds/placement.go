package holds

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/hold"
)

// releasePlacement lets what is held back of a placement happen: the last edit, by the generation that is stored now, and expressions
// that have failed until now.
func (o *releaseOptions) releasePlacement(ctx context.Context, name string) error {
	hub, key, err := rollouts.Caller{Flags: o.flags, ErrOut: o.streams.ErrOut}.Connect(name)
	if err != nil {
		return err
	}
	reason, err := rollouts.TrimReason(o.reason)
	if err != nil {
		return err
	}
	var lines []string
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		lines, err = o.patchPlacement(ctx, hub, key, reason)
		return err
	})
	if err != nil {
		return err
	}
	for _, line := range lines {
		printer.Printf(o.streams.Out, "placement/%s: %s\n", name, line)
	}
	return nil
}

// patchPlacement releases what is held of a placement now, and returns what happens, hold by hold.
func (o *releaseOptions) patchPlacement(ctx context.Context, hub client.Client, key client.ObjectKey, reason string) ([]string, error) {
	placement := &clusterv1beta1.Placement{}
	if err := hub.Get(ctx, key, placement); err != nil {
		return nil, fmt.Errorf("reading the placement %s: %w", key, err)
	}
	holds := slices.DeleteFunc(hold.OfPlacement(placement), func(h hold.Hold) bool { return o.hold != "" && o.hold != string(h.Type) })
	if len(holds) == 0 {
		return nil, fmt.Errorf("nothing of the placement %s is held%s: `kubectl berth holds -n %s` lists the holds",
			key, o.byType(), key.Namespace)
	}
	before := placement.DeepCopy()
	if placement.Annotations == nil {
		placement.Annotations = map[string]string{}
	}
	var lines []string
	for _, h := range holds {
		switch h.Type {
		case hold.Edit:
			placement.Annotations[clusterv1beta1.ConfirmedGenerationAnnotation] = clusterv1beta1.Confirmation(placement)
			placement.Annotations[clusterv1beta1.ConfirmedReasonAnnotation] = reason
			lines = append(lines, fmt.Sprintf("its clusters leave by generation %d of its spec", placement.Generation))
		case hold.Reference:
			placement.Annotations[clusterv1beta1.ConfirmedReferencesAnnotation] = clusterv1beta1.Confirmation(placement)
			placement.Annotations[clusterv1beta1.ConfirmedReferencesReasonAnnotation] = reason
			lines = append(lines, fmt.Sprintf("generation %d of its spec is followed", placement.Generation))
		default:
			at := ledger.RoundUp(o.clock.Now()).UTC().Format(time.RFC3339)
			placement.Annotations[clusterv1beta1.ExpressionsReleasedAnnotation] = at
			placement.Annotations[clusterv1beta1.ExpressionsReleasedReasonAnnotation] = reason
			lines = append(lines, "the clusters leave on which an expression has failed since "+at+" or earlier")
		}
	}
	if err := hub.Patch(ctx, placement, apply.Fenced(before)); err != nil {
		return nil, fmt.Errorf("releasing the placement %s: %w", key, err)
	}
	for i, h := range holds {
		lines[i] = fmt.Sprintf("%s is released: %s", h.Type, lines[i])
	}
	return lines, nil
}

// byType returns the type of the hold to end, for an error; empty for every type.
func (o *releaseOptions) byType() string {
	if o.hold == "" {
		return ""
	}
	return " by " + o.hold
}
