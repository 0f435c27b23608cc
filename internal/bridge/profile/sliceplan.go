package profile

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/engine/plan"
)

// sliceWrite is one write of a decision. A deletion may be of an object that an earlier write of the same plan creates.
type sliceWrite struct {
	verb verb
	// object is what is created, what an update stores, or what is deleted.
	object *multiclusterv1alpha1.PlacementDecision
	// stored is what an update replaces; nil for other verbs.
	stored *multiclusterv1alpha1.PlacementDecision
}

// sliceInput is what the writes of a decision follow from.
type sliceInput struct {
	placement *clusterv1beta1.Placement
	manager   string
	// targets are the wanted slices by index; stored are the slices of the placement that the hub has.
	targets []slice
	stored  []*multiclusterv1alpha1.PlacementDecision
}

// planSlices returns the writes that bring the stored slices to the wanted ones, in their order. A cluster that is in both is in a slice
// after each of them: new slices are created first, clusters that change between existing slices are in a temporary slice while
// these are written, and slices are deleted last. New slices are created from the last index down, so that a reader of an incomplete
// new decision finds a gap, or different revisions.
func planSlices(in sliceInput) []sliceWrite {
	stored, byName := map[string]*multiclusterv1alpha1.PlacementDecision{}, map[string]bool{}
	for _, s := range in.stored {
		stored[s.Name] = s
	}
	rev := revision(in.targets)
	var creates, updates []sliceWrite
	for _, target := range in.targets {
		byName[target.name] = true
		before := stored[target.name]
		object := in.object(target, rev, before)
		switch {
		case before == nil:
			creates = append(creates, sliceWrite{verb: verbCreate, object: object})
		case !sameSlice(object, before):
			updates = append(updates, sliceWrite{verb: verbUpdate, object: object, stored: before})
		}
	}
	slices.Reverse(creates)
	var deletes []sliceWrite
	for _, s := range in.stored {
		if !byName[s.Name] {
			deletes = append(deletes, sliceWrite{verb: verbDelete, object: s})
		}
	}
	slices.SortFunc(deletes, func(a, b sliceWrite) int {
		return cmp.Or(cmp.Compare(indexOf(b.object), indexOf(a.object)), cmp.Compare(b.object.Name, a.object.Name))
	})
	for _, temporary := range in.temporary(rev) {
		creates = append(creates, sliceWrite{verb: verbCreate, object: temporary})
		deletes = append(deletes, sliceWrite{verb: verbDelete, object: temporary})
	}
	return slices.Concat(creates, updates, deletes)
}

// temporary returns slices with the clusters that change from one existing slice to another existing slice.
func (i *sliceInput) temporary(rev string) []*multiclusterv1alpha1.PlacementDecision {
	moving := i.moving()
	if len(moving) == 0 {
		return nil
	}
	number, index := 0, len(i.targets)
	for _, target := range i.targets {
		number = max(number, numberOf(target.name))
	}
	for _, s := range i.stored {
		number, index = max(number, numberOf(s.Name)), max(index, indexOf(s)+1)
	}
	var out []*multiclusterv1alpha1.PlacementDecision
	for part := range slices.Chunk(moving, multiclusterv1alpha1.MaxDecisions) {
		number++
		out = append(out, i.object(slice{name: plan.SliceName(i.placement.Name, number), index: index, entries: part}, rev, nil))
		index++
	}
	return out
}

// moving returns the entries that leave one existing slice for another. New slices, and surplus slices, have their clusters while
// the others are written.
func (i *sliceInput) moving() []multiclusterv1alpha1.ClusterDecision {
	at, wanted := map[string]map[string]bool{}, map[string]bool{} // cluster to the stored slices that have it
	for _, target := range i.targets {
		wanted[target.name] = true
	}
	exists, keptBySurplus := map[string]bool{}, map[string]bool{}
	for _, s := range i.stored {
		exists[s.Name] = true
		for _, entry := range s.Decisions {
			name := entry.ClusterProfileRef.Name
			if at[name] == nil {
				at[name] = map[string]bool{}
			}
			at[name][s.Name] = true
			keptBySurplus[name] = keptBySurplus[name] || !wanted[s.Name]
		}
	}
	var out []multiclusterv1alpha1.ClusterDecision
	for _, target := range i.targets {
		for _, entry := range target.entries {
			name := entry.ClusterProfileRef.Name
			if exists[target.name] && len(at[name]) > 0 && !at[name][target.name] && !keptBySurplus[name] {
				out = append(out, entry)
			}
		}
	}
	return out
}

// object returns a slice as it is stored. What other clients added to the labels and annotations of before stays.
func (i *sliceInput) object(target slice, rev string,
	before *multiclusterv1alpha1.PlacementDecision,
) *multiclusterv1alpha1.PlacementDecision {
	out := &multiclusterv1alpha1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: i.placement.Namespace, Name: target.name}}
	if before != nil {
		out = before.DeepCopy()
	}
	for key, value := range map[string]string{
		multiclusterv1alpha1.ClusterManagerLabel: i.manager,
		multiclusterv1alpha1.DecisionKeyLabel:    i.placement.Name,
		multiclusterv1alpha1.PlacementKeyLabel:   i.placement.Name,
		multiclusterv1alpha1.DecisionIndexLabel:  strconv.Itoa(target.index),
	} {
		setEntry(&out.Labels, key, value)
	}
	setEntry(&out.Annotations, multiclusterv1alpha1.DecisionRevisionAnnotation, rev)
	out.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: clusterv1beta1.GroupVersion.String(), Kind: "Placement", Name: i.placement.Name, UID: i.placement.UID, Controller: new(true),
	}}
	out.SchedulerName, out.Decisions = i.manager, target.entries
	return out
}

// sameSlice reports whether two states of a slice are the same.
func sameSlice(a, b *multiclusterv1alpha1.PlacementDecision) bool {
	return equality.Semantic.DeepEqual(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences) && a.SchedulerName == b.SchedulerName &&
		b.Decisions != nil && slices.Equal(a.Decisions, b.Decisions)
}

// indexOf returns the index of a stored slice; -1 without a valid one.
func indexOf(s *multiclusterv1alpha1.PlacementDecision) int {
	index, err := strconv.Atoi(s.Labels[multiclusterv1alpha1.DecisionIndexLabel])
	if err != nil || index < 0 || index > maxIndex {
		return -1
	}
	return index
}

// maxIndex bounds the indexes and numbers that are read from objects, which other clients may have written.
const maxIndex = 999_999

var sliceNumber = regexp.MustCompile(fmt.Sprintf(`-decision-([1-9][0-9]{0,%d})$`, len(strconv.Itoa(maxIndex))-1))

// numberOf returns the number in the name of a slice; 0 without one.
func numberOf(name string) int {
	parts := sliceNumber.FindStringSubmatch(name)
	if parts == nil {
		return 0
	}
	number, _ := strconv.Atoi(parts[1]) // digits only
	return number
}
