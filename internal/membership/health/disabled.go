package health

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/kube/apply"
)

// disabledRetry is the delay between attempts to write the condition.
const disabledRetry = 5 * time.Second

// AddDisabled replaces Add if the health controller does not run. Nothing would remove the taint of a new cluster then, so the set
// `global` must not have the condition that makes the webhooks taint new clusters. It runs on the leader.
func AddDisabled(mgr manager.Manager, clock clock.PassiveClock) error {
	o := disabledReporter{live: mgr.GetAPIReader(), client: mgr.GetClient(), clock: clock}
	if err := mgr.Add(manager.RunnableFunc(o.run)); err != nil {
		return fmt.Errorf("adding what reports that the health controller is off: %w", err)
	}
	return nil
}

type disabledReporter struct {
	live   client.Reader
	client client.Client
	clock  clock.PassiveClock
}

// run writes the condition once. An error does not end the manager: its webhooks do not taint new clusters.
func (d disabledReporter) run(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, disabledRetry, true, func(ctx context.Context) (bool, error) {
		if err := d.report(ctx); err != nil {
			log.FromContext(ctx).Info("reporting that the health controller is off has failed, and is tried again", "cause", err.Error())
			return false, nil
		}
		return true, nil
	})
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the manager ends
	}
	return err //nolint:wrapcheck // there is nothing to add
}

func (d disabledReporter) report(ctx context.Context) error {
	set := &clusterv1beta2.ManagedClusterSet{}
	if err := d.live.Get(ctx, client.ObjectKey{Name: clusterv1beta2.GlobalClusterSetName}, set); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("reading ManagedClusterSet %s: %w", clusterv1beta2.GlobalClusterSetName, err)
	}
	if found := findUnjoined(set); found == nil || found.Status != metav1.ConditionTrue {
		return nil
	}
	next := set.DeepCopy()
	meta.SetStatusCondition(&next.Status.Conditions, metav1.Condition{
		Type: clusterv1beta2.ManagedClusterSetConditionUnjoinedTainted, Status: metav1.ConditionFalse,
		Reason: clusterv1beta2.ReasonHealthControllerOff, ObservedGeneration: set.Generation, LastTransitionTime: stamp(d.clock.Now()),
		Message: "No ManagedCluster is tainted: the manager runs without the health controller",
	})
	if err := d.client.Status().Patch(ctx, next, apply.Fenced(set)); err != nil {
		return fmt.Errorf("writing the status of ManagedClusterSet %s: %w", set.Name, err)
	}
	return nil
}
