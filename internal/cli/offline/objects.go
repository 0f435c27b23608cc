package offline

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/cli/printer"
)

// Objects returns every placement, each followed by its slices.
func Objects(decided []Decision) printer.List {
	out := printer.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: []any{}}
	version := clusterv1beta1.GroupVersion.String()
	for _, d := range decided {
		placement := *d.Placement
		placement.TypeMeta = metav1.TypeMeta{APIVersion: version, Kind: "Placement"}
		out.Items = append(out.Items, &placement)
		for _, slice := range d.Slices {
			slice := *slice
			slice.TypeMeta = metav1.TypeMeta{APIVersion: version, Kind: "PlacementDecision"}
			out.Items = append(out.Items, &slice)
		}
	}
	return out
}
