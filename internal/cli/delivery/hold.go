package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
)

// fieldManager is the name of these commands in the managed fields of objects.
const fieldManager = "kubectl-berth"

var (
	errNoChange   = errors.New("nothing to change")
	errNoApproval = errors.New("no group waits for approval: the strategy has no approval")
)

// operation is one operation of a JSON Patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// SetPaused holds or continues the rollouts over all placements of a set. Changed is false where they already are.
func SetPaused(ctx context.Context, hub client.Client, key client.ObjectKey, paused bool) (changed bool, err error) {
	err = patch(ctx, hub, key, func(set *workv1alpha1.ManifestWorkReplicaSet) ([]operation, error) {
		var out []operation
		for i, ref := range set.Spec.PlacementRefs {
			if ref.RolloutStrategy.Paused != paused {
				out = append(out, operation{"add", strategyPath(i) + "/paused", paused})
			}
		}
		return out, nil
	})
	if errors.Is(err, errNoChange) {
		return false, nil
	}
	return err == nil, err
}

// Approve approves a decision group of a set, for the placement of a name or for all. Changed is false where it is approved already.
func Approve(ctx context.Context, hub client.Client, key client.ObjectKey, placement string, group clusterv1alpha1.MandatoryDecisionGroup) (changed bool, err error) {
	err = patch(ctx, hub, key, func(set *workv1alpha1.ManifestWorkReplicaSet) ([]operation, error) {
		var out []operation
		asked := false
		for i, ref := range set.Spec.PlacementRefs {
			approval := ref.RolloutStrategy.Approval
			if approval == nil || placement != "" && placement != ref.Name {
				continue
			}
			asked = true
			if !slices.Contains(approval.Approved, group) {
				out = append(out, operation{"add", strategyPath(i) + "/approval/approved", append(slices.Clone(approval.Approved), group)})
			}
		}
		if !asked {
			return nil, fmt.Errorf("ManifestWorkReplicaSet %s: %w", key, errNoApproval)
		}
		return out, nil
	})
	if errors.Is(err, errNoChange) {
		return false, nil
	}
	return err == nil, err
}

func strategyPath(ref int) string {
	return fmt.Sprintf("/spec/placementRefs/%d/rolloutStrategy", ref)
}

// patch changes a set as it is stored now, and again where it was changed meanwhile.
func patch(ctx context.Context, hub client.Client, key client.ObjectKey, change func(*workv1alpha1.ManifestWorkReplicaSet) ([]operation, error)) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		set := &workv1alpha1.ManifestWorkReplicaSet{}
		if err := hub.Get(ctx, key, set); err != nil {
			return err
		}
		operations, err := change(set)
		if err != nil {
			return err
		}
		if len(operations) == 0 {
			return errNoChange
		}
		data, err := json.Marshal(append([]operation{{"test", "/metadata/resourceVersion", set.ResourceVersion}}, operations...))
		if err != nil {
			return err
		}
		err = hub.Patch(ctx, set, client.RawPatch(types.JSONPatchType, data), client.FieldOwner(fieldManager))
		if apierrors.IsInvalid(err) && changedMeanwhile(ctx, hub, set) {
			return apierrors.NewConflict(workv1alpha1.Resource("manifestworkreplicasets"), key.Name, err)
		}
		return err
	})
	if err != nil && !errors.Is(err, errNoChange) && !errors.Is(err, errNoApproval) {
		return fmt.Errorf("changing ManifestWorkReplicaSet %s: %w", key, err)
	}
	return err
}

// changedMeanwhile reports whether a set is stored with another version. A failed test of a JSON Patch does not tell.
func changedMeanwhile(ctx context.Context, hub client.Client, read *workv1alpha1.ManifestWorkReplicaSet) bool {
	now := &workv1alpha1.ManifestWorkReplicaSet{}
	return hub.Get(ctx, client.ObjectKeyFromObject(read), now) == nil && now.ResourceVersion != read.ResourceVersion
}
