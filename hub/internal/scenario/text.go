package scenario

import (
	"fmt"
	"strings"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// Text returns the decisions as the files named ExpectedFile have them: for each placement its conditions, and its groups
// with their clusters.
func (f *Fleet) Text() string {
	var out strings.Builder
	for i, placement := range f.Placements {
		if i > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "%s: %d selected\n", placement.Key(), placement.Placement.Status.NumberOfSelectedClusters)
		for _, kind := range []string{clusterv1beta1.PlacementConditionSatisfied, clusterv1beta1.PlacementConditionMisconfigured} {
			condition := placement.Condition(kind)
			fmt.Fprintf(&out, "  %s=%s %s: %s\n", kind, condition.Status, condition.Reason, condition.Message)
		}
		for _, group := range placement.Groups {
			fmt.Fprintf(&out, "  %s: %s\n", group, strings.Join(group.Clusters, " "))
		}
	}
	return out.String()
}

// String names the group by its index and, if it has one, its name.
func (g Group) String() string {
	if g.Name == "" {
		return "group " + g.Index
	}
	return fmt.Sprintf("group %s (%s)", g.Index, g.Name)
}
