package resource

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/source/file"
)

// SetInfo is what is shown of a set.
type SetInfo struct {
	Name         string                      `json:"name"`
	SelectorType clusterv1beta2.SelectorType `json:"selectorType"`
	// Selector is what makes a cluster a member, in words of labels.
	Selector string `json:"selector"`
	Clusters int    `json:"clusters"`
	// Namespaces are the namespaces with a binding to the set.
	Namespaces []string `json:"namespaces"`
	// Conflicts names the other sets that claim the same exclusive label.
	Conflicts []string `json:"conflicts"`
	// Fault is why the members are unknown; empty for a valid set.
	Fault   string       `json:"fault,omitempty"`
	Created *metav1.Time `json:"created,omitempty"`
}

func setPrinter() Printer {
	return Printer{
		names:    reader.SetKind().Names,
		resource: "managedclusterset." + clusterv1beta2.GroupName,
		Object:   reader.SetKind(),
		Kinds:    []reader.Kind{reader.ClusterKind(), reader.SetKind(), reader.BindingKind()},
		Columns: []column{
			{Title: "TYPE"},
			{Title: "CLUSTERS"},
			{Title: "NAMESPACES", Flexible: true},
			{Title: "CONFLICT", Flexible: true},
			{Title: "AGE", Optional: true},
			{Title: "SELECTOR", Wide: true, Flexible: true},
		},
		Rows: setRows,
	}
}

func setRows(bundle *file.Bundle, now time.Time) []Row {
	namespaces, claims := NamespacesBySet(bundle), SetsByExclusiveLabel(bundle)
	members := MemberCounts(bundle)
	out := make([]Row, 0, len(bundle.Sets))
	for _, set := range bundle.Sets {
		fact := NewSetInfo(set, claims)
		fact.Clusters, fact.Namespaces = members[set.Name], printer.Sorted(namespaces[set.Name])
		conflict := printer.Cell{Text: cmp.Or(fact.Fault, printer.JoinOrDash(fact.Conflicts))}
		if conflict.Text != printer.Dash {
			conflict.Style = printer.StyleBad
		}
		out = append(out, Row{Name: set.Name, Labels: set.Labels, Info: fact, Cells: []printer.Cell{
			{Text: string(fact.SelectorType)},
			{Text: strconv.Itoa(fact.Clusters)},
			{Text: printer.JoinOrDash(fact.Namespaces)},
			conflict,
			{Text: printer.Age(fact.Created, now)},
			{Text: cmp.Or(fact.Selector, printer.Dash)},
		}})
	}
	slices.SortFunc(out, func(a, b Row) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// NamespacesBySet returns the namespaces that each set is bound to.
func NamespacesBySet(bundle *file.Bundle) map[string][]string {
	out := map[string][]string{}
	for _, binding := range bundle.Bindings {
		if !binding.DeletionTimestamp.IsZero() {
			continue // it counts no more
		}
		out[binding.Name] = append(out[binding.Name], binding.Namespace)
	}
	return out
}

// SetsByExclusiveLabel returns the sets that claim each exclusive label.
func SetsByExclusiveLabel(bundle *file.Bundle) map[string][]string {
	out := map[string][]string{}
	for _, set := range bundle.Sets {
		if label, exclusive := exclusiveLabel(set); exclusive {
			out[label] = append(out[label], set.Name)
		}
	}
	return out
}

// MemberCounts counts the members of each set.
func MemberCounts(bundle *file.Bundle) map[string]int {
	out := map[string]int{}
	sets := CompiledSets(bundle)
	for _, object := range bundle.Clusters {
		cluster := fleet.NewCluster(object)
		for _, set := range sets {
			if set.Has(cluster) {
				out[set.Name]++
			}
		}
	}
	return out
}

// NewSetInfo returns the facts about a set; claims are the sets by exclusive label.
func NewSetInfo(set *clusterv1beta2.ManagedClusterSet, claims map[string][]string) SetInfo {
	selector := set.Spec.ClusterSelector
	out := SetInfo{
		Name: set.Name, SelectorType: cmp.Or(selector.SelectorType, clusterv1beta2.ExclusiveClusterSetLabel),
		Conflicts: []string{}, Created: printer.CreationTime(set),
	}
	label, exclusive := exclusiveLabel(set)
	switch {
	case exclusive:
		out.Selector = label
		out.Conflicts = slices.DeleteFunc(printer.Sorted(claims[label]), func(name string) bool { return name == set.Name })
	case selector.LabelSelector == nil:
		out.Selector = "no cluster"
	default:
		out.Selector = cmp.Or(metav1.FormatLabelSelector(selector.LabelSelector), "every cluster")
	}
	if out.Selector == "<none>" { // so apimachinery calls an empty selector, which is all clusters
		out.Selector = "every cluster"
	}
	var faults []string
	for _, fault := range fleet.NewSet(set).Errors {
		faults = append(faults, fault.Error())
	}
	out.Fault = strings.Join(faults, "; ")
	return out
}
