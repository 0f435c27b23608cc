package cli

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// objectList is a v1 List as kubectl prints it.
type objectList struct {
	metav1.TypeMeta `json:",inline"`

	Items    []any           `json:"items"`
	Metadata metav1.ListMeta `json:"metadata"`
}

// objects returns every placement, each followed by its slices.
func objects(decided []decision) objectList {
	out := objectList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: []any{}}
	version := clusterv1beta1.GroupVersion.String()
	for _, d := range decided {
		placement := *d.placement
		placement.TypeMeta = metav1.TypeMeta{APIVersion: version, Kind: "Placement"}
		out.Items = append(out.Items, &placement)
		for _, slice := range d.slices {
			slice := *slice
			slice.TypeMeta = metav1.TypeMeta{APIVersion: version, Kind: "PlacementDecision"}
			out.Items = append(out.Items, &slice)
		}
	}
	return out
}
