package holds

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/hold"
)

// releaseClusterSet ends the holds of a set: its selector is followed by the generation that is stored now, and the brakes that are on now
// end.
func (o *releaseOptions) releaseClusterSet(ctx context.Context, name string) error {
	if o.hold == string(hold.Grace) {
		return o.endGrace(setKind)(ctx, name)
	}
	hub, _, err := rollouts.Caller{Flags: o.flags, ErrOut: o.streams.ErrOut}.Connect(name)
	if err != nil {
		return err
	}
	reason, err := rollouts.TrimReason(o.reason)
	if err != nil {
		return err
	}
	set, released := &clusterv1beta2.ManagedClusterSet{}, map[hold.Type]bool{}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := hub.Get(ctx, client.ObjectKey{Name: name}, set); err != nil {
			return fmt.Errorf("reading the ManagedClusterSet %s: %w", name, err)
		}
		clear(released)
		before := set.DeepCopy()
		for _, found := range hold.OfClusterSet(before) {
			if o.hold != "" && o.hold != string(found.Type) {
				continue
			}
			released[found.Type] = true
			releaseOfClusterSet(set, found, reason)
		}
		if len(released) == 0 {
			return fmt.Errorf("nothing of the ManagedClusterSet %s is held%s: `kubectl berth holds -A` lists the holds", name, o.byType())
		}
		return hub.Patch(ctx, set, apply.Fenced(before)) //nolint:wrapcheck // wrapped below, where a conflict is no cause to retry
	})
	if err != nil {
		return fmt.Errorf("releasing the ManagedClusterSet %s: %w", name, err)
	}
	if released[hold.Selector] {
		printer.Printf(o.streams.Out, "managedclusterset/%s: %s is released: its members leave by generation %d of its spec\n",
			name, hold.Selector, set.Generation)
	}
	if released[hold.Brake] {
		printer.Printf(o.streams.Out, "managedclusterset/%s: %s is released: what it keeps leaves, by the disruption policies. For ten "+
			"minutes the set has no brake for any cause\n", name, hold.Brake)
	}
	return nil
}

// releaseOfClusterSet writes into a set that a hold of it ends.
func releaseOfClusterSet(set *clusterv1beta2.ManagedClusterSet, found hold.Hold, reason string) {
	if found.Type == hold.Selector {
		metav1.SetMetaDataAnnotation(&set.ObjectMeta, clusterv1beta2.ConfirmedSelectorAnnotation, clusterv1beta2.Confirmation(set))
		metav1.SetMetaDataAnnotation(&set.ObjectMeta, clusterv1beta2.ConfirmedSelectorReasonAnnotation, reason)
		return
	}
	if until := found.Since.Time; until.After(clusterv1beta2.BrakeReleased(set)) {
		metav1.SetMetaDataAnnotation(&set.ObjectMeta, clusterv1beta2.BrakeReleasedAnnotation, until.UTC().Format(time.RFC3339))
	}
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, clusterv1beta2.BrakeReleasedReasonAnnotation, reason)
}
