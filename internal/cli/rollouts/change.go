package rollouts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/kube/phrase"
)

var errNoGroup = errors.New("no group is named: give --group, a name or an index")

// operation is one operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// strategyPath is the path of a field of the strategy of a reference.
func strategyPath(ref int, field string) string {
	return fmt.Sprintf("/spec/placementRefs/%d/rolloutStrategy/%s", ref, field)
}

// SetPaused returns the patch that pauses or resumes the rollouts of a set, those over one placement, or all where its name is
// empty. The patch is empty if they already are.
func SetPaused(set *workv1alpha1.ManifestWorkReplicaSet, placement string, paused bool) ([]byte, error) {
	refs, err := refsTo(set, placement)
	if err != nil {
		return nil, err
	}
	var patch []operation
	for _, i := range refs {
		if set.Spec.PlacementRefs[i].RolloutStrategy.Paused != paused {
			patch = append(patch, operation{"add", strategyPath(i, "paused"), paused})
		}
	}
	return encode(set, patch)
}

// referenceTo returns the reference to a group: a whole number is an index.
func referenceTo(group string) clusterv1alpha1.MandatoryDecisionGroup {
	if index, err := strconv.ParseInt(group, 10, 32); err == nil && index >= 0 {
		return clusterv1alpha1.MandatoryDecisionGroup{GroupIndex: int32(index)}
	}
	return clusterv1alpha1.MandatoryDecisionGroup{GroupName: group}
}

// refsTo returns the positions of the references to a placement, or of all where its name is empty.
func refsTo(set *workv1alpha1.ManifestWorkReplicaSet, placement string) ([]int, error) {
	var out []int
	var names []string
	for i, ref := range set.Spec.PlacementRefs {
		names = append(names, ref.Name)
		if placement == "" || ref.Name == placement {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the set %s/%s has no placement %q: it has %s", set.Namespace, set.Name, placement,
			phrase.Join(names, maxListed))
	}
	return out, nil
}

// encode returns a patch that conflicts if the set has changed since it was read; nil for no operation.
func encode(set *workv1alpha1.ManifestWorkReplicaSet, patch []operation) ([]byte, error) {
	if len(patch) == 0 {
		return nil, nil
	}
	patch = append([]operation{{"replace", "/metadata/resourceVersion", set.ResourceVersion}}, patch...)
	out, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding the change: %w", err)
	}
	return out, nil
}

// Change reads a set, and stores the patch that change returns for it. It reports whether there was anything to change. A set whose status
// is written at the same time is read again.
func Change(
	ctx context.Context, hub client.Client, key client.ObjectKey, change func(*workv1alpha1.ManifestWorkReplicaSet) ([]byte, error),
) (changed bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		set := &workv1alpha1.ManifestWorkReplicaSet{}
		if err := hub.Get(ctx, key, set); err != nil {
			return fmt.Errorf("reading the set %s: %w", key, err)
		}
		patch, err := change(set)
		if changed = patch != nil && err == nil; !changed {
			return err
		}
		if err := hub.Patch(ctx, set, client.RawPatch(types.JSONPatchType, patch)); err != nil {
			return fmt.Errorf("changing the set %s: %w", key, err)
		}
		return nil
	})
	return changed && err == nil, err //nolint:wrapcheck // it names the set
}
