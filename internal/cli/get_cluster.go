package cli

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/source/file"
)

// clusterInfo is what is shown of a cluster.
type clusterInfo struct {
	Name     string `json:"name"`
	Accepted bool   `json:"accepted"`
	Joined   bool   `json:"joined"`
	// Available is True, False or Unknown, Since when it became that.
	Available metav1.ConditionStatus `json:"available"`
	Since     *metav1.Time           `json:"availableSince,omitempty"`
	Taints    []string               `json:"taints"`
	Sets      []string               `json:"sets"`
	// Placements is how many have chosen the cluster.
	Placements int `json:"placements"`
	// CPU and Memory are allocatable; absent where the cluster does not report them.
	CPU     *resource.Quantity `json:"cpu,omitempty"`
	Memory  *resource.Quantity `json:"memory,omitempty"`
	Version string             `json:"version,omitempty"`
	Created *metav1.Time       `json:"created,omitempty"`
}

func clusterPrinter() resourcePrinter {
	return resourcePrinter{
		names:    clusterKind().names,
		resource: "managedcluster." + clusterv1.GroupName,
		object:   clusterKind(),
		kinds:    []kind{clusterKind(), setKind(), decisionKind()},
		columns: []column{
			{title: "ACCEPTED"},
			{title: "AVAILABLE"},
			{title: "SINCE"},
			{title: "TAINTS", flexible: true},
			{title: "SETS", flexible: true},
			{title: "PLACEMENTS"},
			{title: "CPU", optional: true},
			{title: "MEMORY", optional: true},
			{title: "AGE", optional: true},
			{title: "JOINED", wide: true},
			{title: "VERSION", wide: true},
		},
		rows: clusterRows,
	}
}

func clusterRows(bundle *file.Bundle, now time.Time) []resourceRow {
	sets, chosen := compiledSets(bundle), placementsByCluster(bundle)
	out := make([]resourceRow, 0, len(bundle.Clusters))
	for _, cluster := range bundle.Clusters {
		fact := newClusterInfo(cluster, sets)
		fact.Placements = len(chosen[cluster.Name])
		out = append(out, resourceRow{name: cluster.Name, labels: cluster.Labels, cells: fact.cells(now), info: fact})
	}
	slices.SortFunc(out, func(a, b resourceRow) int { return cmp.Compare(a.name, b.name) })
	return out
}

func (f clusterInfo) cells(now time.Time) []cell {
	// The hub's own taints go by their short names, which are no other's.
	accepted, taints := cell{"true", styleGood}, cell{text: strings.ReplaceAll(joinOrDash(f.Taints), clusterv1.GroupName+"/", "")}
	if !f.Accepted {
		accepted = cell{"false", styleBad}
	}
	if len(f.Taints) > 0 {
		taints.style = styleWarning
	}
	return []cell{
		accepted,
		{string(f.Available), conditionStyle(f.Available)},
		{text: age(f.Since, now)},
		taints,
		{text: joinOrDash(f.Sets)},
		{text: strconv.Itoa(f.Placements)},
		{text: cores(f.CPU)},
		{text: gibibytes(f.Memory)},
		{text: age(f.Created, now)},
		{text: strconv.FormatBool(f.Joined)},
		{text: cmp.Or(f.Version, dash)},
	}
}

func newClusterInfo(cluster *clusterv1.ManagedCluster, sets []*fleet.Set) clusterInfo {
	out := clusterInfo{
		Name: cluster.Name, Accepted: cluster.Spec.HubAcceptsClient, Available: metav1.ConditionUnknown, Taints: []string{},
		Sets: setNamesOf(cluster, sets), Version: cluster.Status.Version.Kubernetes, Created: creationTime(cluster),
		Joined: meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionJoined),
	}
	if available := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable); available != nil {
		out.Available, out.Since = available.Status, timeOrNil(available.LastTransitionTime)
	}
	for _, taint := range cluster.Spec.Taints {
		text := taint.Key
		if taint.Value != "" {
			text += "=" + taint.Value
		}
		out.Taints = append(out.Taints, text+":"+string(taint.Effect))
	}
	if cpu, reported := cluster.Status.Allocatable[clusterv1.ResourceCPU]; reported {
		out.CPU = &cpu
	}
	if memory, reported := cluster.Status.Allocatable[clusterv1.ResourceMemory]; reported {
		out.Memory = &memory
	}
	return out
}

// cores renders processor time: 12, 0.5.
func cores(in *resource.Quantity) string {
	if in == nil {
		return dash
	}
	const milli = 1000
	return strconv.FormatFloat(float64(in.MilliValue())/milli, 'f', -1, 64)
}

// gibibytes renders memory: 512Gi, 0.5Gi.
func gibibytes(in *resource.Quantity) string {
	if in == nil {
		return dash
	}
	const gibi = 1 << 30
	text := strconv.FormatFloat(float64(in.Value())/gibi, 'f', 1, 64)
	return strings.TrimSuffix(text, ".0") + "Gi"
}

// compiledSets returns the sets of a bundle, by name.
func compiledSets(bundle *file.Bundle) []*fleet.Set {
	out := make([]*fleet.Set, 0, len(bundle.Sets))
	for _, set := range bundle.Sets {
		out = append(out, fleet.NewSet(set))
	}
	slices.SortFunc(out, func(a, b *fleet.Set) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// setNamesOf names the sets that a cluster is in.
func setNamesOf(cluster *clusterv1.ManagedCluster, sets []*fleet.Set) []string {
	out := []string{}
	member := fleet.NewCluster(cluster)
	for _, set := range sets {
		if set.Has(member) {
			out = append(out, set.Name)
		}
	}
	return out
}

// placementsByCluster returns for each cluster the placements that have chosen it.
func placementsByCluster(bundle *file.Bundle) map[string]map[fleet.Key]struct{} {
	out := map[string]map[fleet.Key]struct{}{}
	for key, stored := range bundle.Decisions {
		for _, slice := range stored {
			for _, name := range plan.Clusters(slice) {
				if out[name] == nil {
					out[name] = map[fleet.Key]struct{}{}
				}
				out[name][key] = struct{}{}
			}
		}
	}
	return out
}

// exclusiveLabel returns the label that makes a cluster a member of a set and of no other, as key=value; ok is false for sets
// that may overlap.
func exclusiveLabel(set *clusterv1beta2.ManagedClusterSet) (text string, ok bool) {
	label, ok := fleet.ExclusiveLabel(set)
	return label.Key + "=" + label.Value, ok
}
