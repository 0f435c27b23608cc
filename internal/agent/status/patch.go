package status

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// Patch returns the JSON merge patch that replaces a stored status; nil where nothing changes. The patch carries the UID and the
// resource version, so that the hub refuses it once another client has written.
func Patch(stored *clusterv1.ManagedCluster, next clusterv1.ManagedClusterStatus) ([]byte, error) {
	if equality.Semantic.DeepEqual(stored.Status, next) {
		return nil, nil //nolint:nilnil // no patch is the result for no change
	}
	type body struct {
		Status clusterv1.ManagedClusterStatus `json:"status"`
	}
	before, err := json.Marshal(body{stored.Status})
	if err != nil {
		return nil, fmt.Errorf("encoding the stored status: %w", err)
	}
	after, err := json.Marshal(body{next})
	if err != nil {
		return nil, fmt.Errorf("encoding the status: %w", err)
	}
	difference, err := jsonmergepatch.CreateThreeWayJSONMergePatch(before, after, before)
	if err != nil {
		return nil, fmt.Errorf("comparing the status with the stored one: %w", err)
	}
	patch := map[string]any{}
	if err := json.Unmarshal(difference, &patch); err != nil {
		return nil, fmt.Errorf("reading the patch of the status: %w", err)
	}
	if len(patch) == 0 {
		return nil, nil //nolint:nilnil // no patch is the result for no change
	}
	patch["metadata"] = map[string]any{"uid": stored.UID, "resourceVersion": stored.ResourceVersion}
	out, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding the patch of the status: %w", err)
	}
	return out, nil
}
