package cli

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/berth-project/berth/internal/source/file"
)

// resourcePrinter prints one kind of resource as rows.
type resourcePrinter struct {
	// names are those by which it is called: the plural first, then the singular, then short ones.
	names []string
	// resource is what -o name puts before a name; empty where there is no such object.
	resource string
	// object is the kind of the named objects: the printed kind, or placements for groups.
	object kind
	// kinds are the kinds that rows are made from.
	kinds   []kind
	columns []column
	// rows returns all there are, by namespace and name.
	rows func(bundle *file.Bundle, now time.Time) []resourceRow
}

func (g resourcePrinter) plural() string   { return g.names[0] }
func (g resourcePrinter) singular() string { return g.names[1] }

// column is a column of a table.
type column struct {
	title string
	// wide columns are shown with -o wide only; flexible ones may be cut, optional ones left out on a narrow screen.
	wide, flexible, optional bool
}

// resourceRow is one thing.
type resourceRow struct {
	namespace, name string
	labels          map[string]string
	// path is what -o name prints where there is no resource.
	path string
	// cells are the values of the columns.
	cells []cell
	// info is the data for -o json and -o yaml. It holds no ages, so it changes only with the object.
	info any
}

// resourcePrinters are the kinds that get prints.
func resourcePrinters() []resourcePrinter {
	return []resourcePrinter{placementPrinter(), clusterPrinter(), setPrinter(), groupPrinter()}
}

// resourceNames returns the names of each kind of thing that is shown.
func resourceNames() [][]string {
	var out [][]string
	for _, g := range resourcePrinters() {
		out = append(out, g.names)
	}
	return out
}

// resourcePrinterFor returns what a name stands for.
func resourcePrinterFor(name string) (resourcePrinter, bool) {
	name = bareKind(name)
	for _, g := range resourcePrinters() {
		if slices.Contains(g.names, name) {
			return g, true
		}
	}
	return resourcePrinter{}, false
}

// age renders how long ago something was; "-" where it never was.
func age(at *metav1.Time, now time.Time) string {
	if at == nil || at.IsZero() {
		return dash
	}
	return duration.HumanDuration(max(0, now.Sub(at.Time)))
}

// creationTime returns the creation time of an object; nil for an object from a file.
func creationTime(object metav1.Object) *metav1.Time {
	at := object.GetCreationTimestamp()
	return timeOrNil(at)
}

func timeOrNil(at metav1.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	utc := metav1.NewTime(at.UTC())
	return &utc
}

// conditionStyle is that of a condition which is good when it is True.
func conditionStyle(status metav1.ConditionStatus) textStyle {
	switch status {
	case metav1.ConditionTrue:
		return styleGood
	case metav1.ConditionFalse:
		return styleBad
	default:
		return styleWarning
	}
}

// joinOrDash renders names; "-" where there are none.
func joinOrDash(in []string) string { return cmp.Or(strings.Join(in, ", "), dash) }

// sorted returns an empty list rather than none, since readers of JSON range over it.
func sorted(in []string) []string {
	out := append([]string{}, in...)
	slices.Sort(out)
	return slices.Compact(out)
}

// plainCells returns cells that mean nothing in particular.
func plainCells(in ...string) []cell {
	out := make([]cell, 0, len(in))
	for _, text := range in {
		out = append(out, cell{text: text})
	}
	return out
}

func sortedKeys[V any](in map[string]V) []string { return slices.Sorted(maps.Keys(in)) }
