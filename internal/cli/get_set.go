package cli

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/source/file"
)

// setInfo is what is shown of a set.
type setInfo struct {
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

func setPrinter() resourcePrinter {
	return resourcePrinter{
		names:    setKind().names,
		resource: "managedclusterset." + clusterv1beta2.GroupName,
		object:   setKind(),
		kinds:    []kind{clusterKind(), setKind(), bindingKind()},
		columns: []column{
			{title: "TYPE"},
			{title: "CLUSTERS"},
			{title: "NAMESPACES", flexible: true},
			{title: "CONFLICT", flexible: true},
			{title: "AGE", optional: true},
			{title: "SELECTOR", wide: true, flexible: true},
		},
		rows: setRows,
	}
}

func setRows(bundle *file.Bundle, now time.Time) []resourceRow {
	namespaces, claims := namespacesBySet(bundle), setsByExclusiveLabel(bundle)
	members := memberCounts(bundle)
	out := make([]resourceRow, 0, len(bundle.Sets))
	for _, set := range bundle.Sets {
		fact := newSetInfo(set, claims)
		fact.Clusters, fact.Namespaces = members[set.Name], sorted(namespaces[set.Name])
		conflict := cell{text: cmp.Or(fact.Fault, joinOrDash(fact.Conflicts))}
		if conflict.text != dash {
			conflict.style = styleBad
		}
		out = append(out, resourceRow{name: set.Name, labels: set.Labels, info: fact, cells: []cell{
			{text: string(fact.SelectorType)},
			{text: strconv.Itoa(fact.Clusters)},
			{text: joinOrDash(fact.Namespaces)},
			conflict,
			{text: age(fact.Created, now)},
			{text: cmp.Or(fact.Selector, dash)},
		}})
	}
	slices.SortFunc(out, func(a, b resourceRow) int { return cmp.Compare(a.name, b.name) })
	return out
}

// namespacesBySet returns the namespaces that each set is bound to.
func namespacesBySet(bundle *file.Bundle) map[string][]string {
	out := map[string][]string{}
	for _, binding := range bundle.Bindings {
		if !binding.DeletionTimestamp.IsZero() {
			continue // it counts no more
		}
		out[binding.Name] = append(out[binding.Name], binding.Namespace)
	}
	return out
}

// setsByExclusiveLabel returns the sets that claim each exclusive label.
func setsByExclusiveLabel(bundle *file.Bundle) map[string][]string {
	out := map[string][]string{}
	for _, set := range bundle.Sets {
		if label, exclusive := exclusiveLabel(set); exclusive {
			out[label] = append(out[label], set.Name)
		}
	}
	return out
}

// memberCounts counts the members of each set.
func memberCounts(bundle *file.Bundle) map[string]int {
	out := map[string]int{}
	sets := compiledSets(bundle)
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

func newSetInfo(set *clusterv1beta2.ManagedClusterSet, claims map[string][]string) setInfo {
	selector := set.Spec.ClusterSelector
	out := setInfo{
		Name: set.Name, SelectorType: cmp.Or(selector.SelectorType, clusterv1beta2.ExclusiveClusterSetLabel),
		Conflicts: []string{}, Created: creationTime(set),
	}
	label, exclusive := exclusiveLabel(set)
	switch {
	case exclusive:
		out.Selector = label
		out.Conflicts = slices.DeleteFunc(sorted(claims[label]), func(name string) bool { return name == set.Name })
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
