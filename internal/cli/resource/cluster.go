package resource

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
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/source/file"
)

// ClusterInfo is what is shown of a cluster.
type ClusterInfo struct {
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

func clusterPrinter() Printer {
	return Printer{
		names:    reader.ClusterKind().Names,
		resource: "managedcluster." + clusterv1.GroupName,
		Object:   reader.ClusterKind(),
		Kinds:    []reader.Kind{reader.ClusterKind(), reader.SetKind(), reader.DecisionKind()},
		Columns: []column{
			{Title: "ACCEPTED"},
			{Title: "AVAILABLE"},
			{Title: "SINCE"},
			{Title: "TAINTS", Flexible: true},
			{Title: "SETS", Flexible: true},
			{Title: "PLACEMENTS"},
			{Title: "CPU", Optional: true},
			{Title: "MEMORY", Optional: true},
			{Title: "AGE", Optional: true},
			{Title: "JOINED", Wide: true},
			{Title: "VERSION", Wide: true},
		},
		Rows: clusterRows,
	}
}

func clusterRows(bundle *file.Bundle, now time.Time) []Row {
	sets, chosen := CompiledSets(bundle), PlacementsByCluster(bundle)
	out := make([]Row, 0, len(bundle.Clusters))
	for _, cluster := range bundle.Clusters {
		fact := NewClusterInfo(cluster, sets)
		fact.Placements = len(chosen[cluster.Name])
		out = append(out, Row{Name: cluster.Name, Labels: cluster.Labels, Cells: fact.cells(now), Info: fact})
	}
	slices.SortFunc(out, func(a, b Row) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (c ClusterInfo) cells(now time.Time) []printer.Cell {
	// The hub's own taints go by their short names, which are no other's.
	accepted := printer.StyledCell("true", printer.StyleGood)
	taints := printer.Cell{Text: strings.ReplaceAll(printer.JoinOrDash(c.Taints), clusterv1.GroupName+"/", "")}
	if !c.Accepted {
		accepted = printer.StyledCell("false", printer.StyleBad)
	}
	if len(c.Taints) > 0 {
		taints.Style = printer.StyleWarning
	}
	return []printer.Cell{
		accepted,
		printer.StyledCell(string(c.Available), conditionStyle(c.Available)),
		{Text: printer.Age(c.Since, now)},
		taints,
		{Text: printer.JoinOrDash(c.Sets)},
		{Text: strconv.Itoa(c.Placements)},
		{Text: Cores(c.CPU)},
		{Text: Gibibytes(c.Memory)},
		{Text: printer.Age(c.Created, now)},
		{Text: strconv.FormatBool(c.Joined)},
		{Text: cmp.Or(c.Version, printer.Dash)},
	}
}

// NewClusterInfo returns the facts about a cluster; sets are those of the fleet.
func NewClusterInfo(cluster *clusterv1.ManagedCluster, sets []*fleet.Set) ClusterInfo {
	out := ClusterInfo{
		Name: cluster.Name, Accepted: cluster.Spec.HubAcceptsClient, Available: metav1.ConditionUnknown, Taints: []string{},
		Sets: SetNamesOf(cluster, sets), Version: cluster.Status.Version.Kubernetes, Created: printer.CreationTime(cluster),
		Joined: meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionJoined),
	}
	if available := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable); available != nil {
		out.Available, out.Since = available.Status, printer.TimeOrNil(available.LastTransitionTime)
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

// Cores renders processor time: 12, 0.5.
func Cores(in *resource.Quantity) string {
	if in == nil {
		return printer.Dash
	}
	const milli = 1000
	return strconv.FormatFloat(float64(in.MilliValue())/milli, 'f', -1, 64)
}

// Gibibytes renders memory: 512Gi, 0.5Gi.
func Gibibytes(in *resource.Quantity) string {
	if in == nil {
		return printer.Dash
	}
	const gibi = 1 << 30
	text := strconv.FormatFloat(float64(in.Value())/gibi, 'f', 1, 64)
	return strings.TrimSuffix(text, ".0") + "Gi"
}

// CompiledSets returns the sets of a bundle, by name.
func CompiledSets(bundle *file.Bundle) []*fleet.Set {
	out := make([]*fleet.Set, 0, len(bundle.Sets))
	for _, set := range bundle.Sets {
		out = append(out, fleet.NewSet(set))
	}
	slices.SortFunc(out, func(a, b *fleet.Set) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// SetNamesOf names the sets that a cluster is in.
func SetNamesOf(cluster *clusterv1.ManagedCluster, sets []*fleet.Set) []string {
	out := []string{}
	member := fleet.NewCluster(cluster)
	for _, set := range sets {
		if set.Has(member) {
			out = append(out, set.Name)
		}
	}
	return out
}

// PlacementsByCluster returns for each cluster the placements that have chosen it.
func PlacementsByCluster(bundle *file.Bundle) map[string]map[fleet.Key]struct{} {
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
	label, ok := fleet.NewSet(set).ExclusiveLabel()
	return label.Key + "=" + label.Value, ok
}
