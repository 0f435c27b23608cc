package plan

import (
	"encoding/json"
	"strings"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// Dropped are the status fields that an API server drops because its CRDs do not have them: paths of JSON names below the
// status, separated by dots, through lists. The zero value is for an API server that drops none.
type Dropped struct {
	// Placement are fields of the status of placements, Decision of decisions.
	Placement, Decision []string
}

// placement removes the dropped fields from the status of a placement.
func (d Dropped) placement(status *clusterv1beta1.PlacementStatus) { drop(status, d.Placement) }

// decisions removes the dropped fields from decisions.
func (d Dropped) decisions(all []clusterv1beta1.ClusterDecision) []clusterv1beta1.ClusterDecision {
	status := &clusterv1beta1.PlacementDecisionStatus{Decisions: all}
	drop(status, d.Decision)
	return status.Decisions
}

// drop removes fields from a status by way of JSON, as the API server does. Every status can be written as JSON.
func drop[T any](status *T, paths []string) {
	if len(paths) == 0 {
		return
	}
	var tree any
	data, err := json.Marshal(status)
	if err == nil {
		err = json.Unmarshal(data, &tree)
	}
	for _, path := range paths {
		remove(tree, strings.Split(path, "."))
	}
	if err == nil {
		data, err = json.Marshal(tree)
	}
	var out T
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		panic("plan: a status is not JSON: " + err.Error())
	}
	*status = out
}

// remove removes a field from an object, or from each object of a list.
func remove(from any, path []string) {
	switch from := from.(type) {
	case []any:
		for _, item := range from {
			remove(item, path)
		}
	case map[string]any:
		if len(path) == 1 {
			delete(from, path[0])
			return
		}
		remove(from[path[0]], path[1:])
	}
}
