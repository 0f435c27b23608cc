package holds

import (
	"context"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/hold"
)

// releaseClusterSet lets the selector of a set be followed, by the generation that is stored now.
func (o *releaseOptions) releaseClusterSet(ctx context.Context, name string) error {
	hub, _, err := rollouts.Caller{Flags: o.flags, ErrOut: o.streams.ErrOut}.Connect(name)
	if err != nil {
		return err
	}
	reason, err := rollouts.TrimReason(o.reason)
	if err != nil {
		return err
	}
	set := &clusterv1beta2.ManagedClusterSet{}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := hub.Get(ctx, client.ObjectKey{Name: name}, set); err != nil {
			return fmt.Errorf("reading the ManagedClusterSet %s: %w", name, err)
		}
		if len(hold.OfClusterSet(set)) == 0 || o.hold != "" && o.hold != string(hold.Selector) {
			return fmt.Errorf("nothing of the ManagedClusterSet %s is held%s: `kubectl berth holds -A` lists the holds", name, o.byType())
		}
		before := set.DeepCopy()
		metav1.SetMetaDataAnnotation(&set.ObjectMeta, clusterv1beta2.ConfirmedSelectorAnnotation, strconv.FormatInt(set.Generation, 10))
		metav1.SetMetaDataAnnotation(&set.ObjectMeta, clusterv1beta2.ConfirmedSelectorReasonAnnotation, reason)
		return hub.Patch(ctx, set, apply.Fenced(before)) //nolint:wrapcheck // wrapped below, where a conflict is no cause to retry
	})
	if err != nil {
		return fmt.Errorf("releasing the ManagedClusterSet %s: %w", name, err)
	}
	printer.Printf(o.streams.Out, "managedclusterset/%s: %s is released: its members leave by generation %d of its spec\n",
		name, hold.Selector, set.Generation)
	return nil
}
