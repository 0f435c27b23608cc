package apply

import (
	"encoding/json"
	"fmt"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// optional names the parts of a placement's status that may be absent, each with its own such parts. A merge patch leaves
// alone what it does not name, so these are named where they are to go.
func optional() map[string][]string {
	return map[string][]string{
		"numberOfReluctantClusters": nil,
		"decisionGroups":            nil,
		"conditions":                nil,
		"lastScoreUpdateTime":       nil,
		"disruption":                {"spent", "releasing", "held"},
		"failback":                  {"waiting"},
	}
}

// complete returns a status as a merge patch must say it, so that it is what is stored afterwards.
func complete(status clusterv1beta1.PlacementStatus) (map[string]any, error) {
	body, err := json.Marshal(status)
	if err != nil {
		return nil, fmt.Errorf("encoding a status: %w", err)
	}
	var out map[string]any
	if err := json.Unmarshal(body, &out); err != nil {
		return nil, fmt.Errorf("decoding a status: %w", err)
	}
	for name, parts := range optional() {
		inner, there := out[name].(map[string]any)
		if _, said := out[name]; !said {
			out[name] = nil
		}
		for _, part := range parts {
			if _, said := inner[part]; there && !said {
				inner[part] = nil
			}
		}
	}
	return out, nil
}
