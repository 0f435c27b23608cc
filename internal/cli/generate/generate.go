// Package generate creates random fleets with the shape of real ones. Few regions have many clusters and many regions
// have few. Nearly all clusters have some labels, and hardly any has others. One cluster in fifty is tainted. Each
// placement has a selector of its own.
//
// It makes the objects and does not store them. The invariant: the same shape gives the same fleet, byte for byte, on
// every machine.
package generate

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

const (
	clustersPerSet         = 100
	placementsPerNamespace = 20
	// setsPerNamespace is how many sets are bound to a namespace.
	setsPerNamespace = 3
	// noBalanceEvery: one in so many placements of a namespace ranks without the decisions of other placements.
	noBalanceEvery = 4
	// taintedPercent of the clusters carry a taint.
	taintedPercent = 2
)

// Epoch is the time of every event in a fleet.
var Epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant that Go cannot spell

// Shape is the size of a fleet.
type Shape struct {
	Clusters, Placements int
	// ScoredPercent is the percentage of placements that rank clusters by an add-on score. Above 0, every cluster has a
	// score.
	ScoredPercent int
	Seed          uint64
}

// Fleet is the objects of a hub in an order in which they can be stored. It is read-only; store copies.
type Fleet struct {
	Namespaces []string
	Sets       []*clusterv1beta2.ManagedClusterSet
	Bindings   []*clusterv1beta2.ManagedClusterSetBinding
	Clusters   []*clusterv1.ManagedCluster
	// Scores are in the namespaces of their clusters, which Namespaces does not name.
	Scores     []*clusterv1alpha1.AddOnPlacementScore
	Placements []*clusterv1beta1.Placement
}

// New creates the fleet of a shape.
func New(shape Shape) *Fleet {
	d := newGenerator(shape.Seed)
	out := &Fleet{}
	for i := range atLeastOne(shape.Clusters / clustersPerSet) {
		set := &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("set-%02d", i)}}
		set.Spec.ClusterSelector.SelectorType = clusterv1beta2.ExclusiveClusterSetLabel
		out.Sets = append(out.Sets, set)
	}
	sets := d.zipf(len(out.Sets))
	for i := range shape.Clusters {
		out.Clusters = append(out.Clusters, d.cluster(i, out.Sets[sets()].Name))
	}
	d.taint(out.Clusters)
	for i := range atLeastOne(shape.Placements / placementsPerNamespace) {
		namespace := fmt.Sprintf("team-%03d", i)
		out.Namespaces = append(out.Namespaces, namespace)
		out.bind(namespace, i)
	}
	selectors := d.selectors(out.Clusters, shape.Placements)
	for i, selector := range selectors {
		namespace, turn := out.Namespaces[i%len(out.Namespaces)], i/len(out.Namespaces)
		placement := d.placement(namespace, fmt.Sprintf("app-%04d", i), selector)
		if turn%noBalanceEvery == noBalanceEvery-1 {
			rankWithoutBalance(placement)
		}
		out.Placements = append(out.Placements, placement)
	}
	if shape.ScoredPercent > 0 {
		out.Scores = d.scores(out.Clusters)
		d.rankByScore(out.Placements, shape.ScoredPercent)
	}
	return out
}

// bind binds a few sets to a namespace, and always the largest set.
func (f *Fleet) bind(namespace string, turn int) {
	bound := map[int]bool{}
	for i := range min(setsPerNamespace, len(f.Sets)) {
		at := 0
		if i > 0 {
			at = (turn*(setsPerNamespace-1) + i) % len(f.Sets)
		}
		if bound[at] {
			continue
		}
		bound[at] = true
		f.Bindings = append(f.Bindings, binding(namespace, f.Sets[at].Name))
	}
}

// WholeFleetSet returns a set with every cluster, and a binding of it in each of some namespaces.
func WholeFleetSet(name string, namespaces []string) (*clusterv1beta2.ManagedClusterSet, []*clusterv1beta2.ManagedClusterSetBinding) {
	set := &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	set.Spec.ClusterSelector = clusterv1beta2.ManagedClusterSelector{
		SelectorType: clusterv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{},
	}
	bindings := make([]*clusterv1beta2.ManagedClusterSetBinding, 0, len(namespaces))
	for _, namespace := range namespaces {
		bindings = append(bindings, binding(namespace, name))
	}
	return set, bindings
}

func binding(namespace, set string) *clusterv1beta2.ManagedClusterSetBinding {
	return &clusterv1beta2.ManagedClusterSetBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: set},
		Spec:       clusterv1beta2.ManagedClusterSetBindingSpec{ClusterSet: set},
	}
}

func atLeastOne(n int) int { return max(1, n) }
