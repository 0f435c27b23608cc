package plan

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
)

// StrategyAnnotation is the fingerprint of the group strategy of a slice. A later run reads from it whether clusters keep their
// group.
const StrategyAnnotation = clusterv1beta1.DecisionStrategyAnnotation

var sliceName = regexp.MustCompile(`^(.+)-decision-([1-9][0-9]{0,5})$`)

// SliceName returns the name of a slice.
func SliceName(placement string, number int) string {
	return fmt.Sprintf("%s-decision-%d", placement, number)
}

// Owner returns the placement of a slice, and its number, from its name. Ok is false for any other name.
func Owner(slice *clusterv1beta1.PlacementDecision) (placement fleet.Key, number int, ok bool) {
	parts := sliceName.FindStringSubmatch(slice.Name)
	if parts == nil {
		return fleet.Key{}, 0, false
	}
	number, err := strconv.Atoi(parts[2])
	return fleet.Key{Namespace: slice.Namespace, Name: parts[1]}, number, err == nil
}

// ReadSlice returns a stored slice as the engine reads it.
func ReadSlice(object *clusterv1beta1.PlacementDecision) fleet.Slice {
	_, number, _ := Owner(object)
	out := fleet.Slice{
		Number:     number,
		Group:      object.Labels[clusterv1beta1.DecisionGroupNameLabel],
		GroupIndex: groupIndex(object.Labels),
		Strategy:   clusterv1beta1.DecisionStrategyHash(object),
		Clusters:   Clusters(object),
	}
	return out
}

func groupIndex(labels map[string]string) int {
	index, err := strconv.Atoi(labels[clusterv1beta1.DecisionGroupIndexLabel])
	if err != nil || index < 0 {
		return -1
	}
	return index
}

// Clusters returns the clusters of a stored slice, in its order.
func Clusters(object *clusterv1beta1.PlacementDecision) []string {
	out := make([]string, 0, len(object.Status.Decisions))
	for _, decision := range object.Status.Decisions {
		out = append(out, decision.ClusterName)
	}
	return out
}

// target is a wanted slice.
type target struct {
	number     int
	group      string
	groupIndex int
	strategy   string
	clusters   []string
}

// object returns the slice as a new object. It does not have the label of the placement, by which readers list, because a new
// object has no status at first.
func (t target) object(placement *clusterv1beta1.Placement, decisions []clusterv1beta1.ClusterDecision) *clusterv1beta1.PlacementDecision {
	out := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: placement.Namespace, Name: SliceName(placement.Name, t.number),
	}}
	t.setMetadata(out, placement)
	delete(out.Labels, clusterv1beta1.PlacementLabel)
	out.Status.Decisions = decisions
	return out
}

// setMetadata sets the metadata that Berth owns, and keeps the rest.
func (t target) setMetadata(object *clusterv1beta1.PlacementDecision, placement *clusterv1beta1.Placement) {
	labels, annotations := maps.Clone(object.Labels), maps.Clone(object.Annotations)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[clusterv1beta1.PlacementLabel] = placement.Name
	labels[clusterv1beta1.DecisionGroupNameLabel] = t.group
	labels[clusterv1beta1.DecisionGroupIndexLabel] = strconv.Itoa(t.groupIndex)
	if t.strategy != "" {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[StrategyAnnotation] = t.strategy
		delete(annotations, clusterv1beta1.DeprecatedDecisionStrategyAnnotation)
	}
	object.Labels, object.Annotations = labels, annotations
	if !metav1.IsControlledBy(object, placement) {
		object.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(placement, clusterv1beta1.GroupVersion.WithKind("Placement")),
		}
	}
}

// hasMetadata reports whether a stored slice has the wanted metadata.
func (t target) hasMetadata(object *clusterv1beta1.PlacementDecision, placement *clusterv1beta1.Placement) bool {
	want := &clusterv1beta1.PlacementDecision{ObjectMeta: object.ObjectMeta}
	t.setMetadata(want, placement)
	return maps.Equal(want.Labels, object.Labels) && maps.Equal(want.Annotations, object.Annotations) &&
		metav1.IsControlledBy(object, placement)
}
