package addon

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
)

// report stores the status where it changed, at most once an interval, however often an add-on changes its report. Wait is how long after
// now it has to be called again; 0 if everything is stored.
func (r *reconciler) report(
	ctx context.Context, s *addOnState, addOn *addonv1alpha1.ClusterManagementAddOn, status *addonv1alpha1.ClusterManagementAddOnStatus,
) (wait time.Duration, err error) {
	if equality.Semantic.DeepEqual(&addOn.Status, status) {
		return 0, nil
	}
	now := r.options.Clock.Now()
	happened := statusEvents(&addOn.Status, status)
	if wait = s.untilReport(now); wait > 0 {
		return wait, nil
	}
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": addOn.UID, "resourceVersion": addOn.ResourceVersion},
		"status": map[string]any{ // a merge patch keeps what it does not have
			"defaultconfigReferences": status.DefaultConfigReferences, "installProgressions": status.InstallProgressions,
		},
	})
	if err != nil {
		return 0, fmt.Errorf("encoding the status of ClusterManagementAddOn %s: %w", addOn.Name, err)
	}
	after := &addonv1alpha1.ClusterManagementAddOn{ObjectMeta: metav1.ObjectMeta{Name: addOn.Name}}
	if err := r.client.Status().Patch(ctx, after, client.RawPatch(types.MergePatchType, data)); err != nil {
		return 0, fmt.Errorf("writing the status of ClusterManagementAddOn %s: %w", addOn.Name, err)
	}
	s.stored(after, now)
	for _, event := range happened {
		r.recorder.Eventf(addOn, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
	}
	return 0, nil
}
