package resource

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/source/file"
)

// Printer prints one kind of resource as rows.
type Printer struct {
	// names are those by which it is called: the plural first, then the singular, then short ones.
	names []string
	// resource is what -o name puts before a name; empty where there is no such object.
	resource string
	// Object is the kind of the named objects: the printed kind, or placements for groups.
	Object reader.Kind
	// Kinds are the kinds that rows are made from.
	Kinds   []reader.Kind
	Columns []column
	// Rows returns all there are, by namespace and name.
	Rows func(bundle *file.Bundle, now time.Time) []Row
}

// Names are the names of the kind on a command line, the plural first.
func (p Printer) Names() []string { return p.names }

// Plural returns the plural name of the kind, such as placements.
func (p Printer) Plural() string { return p.names[0] }

// Singular returns the singular name of the kind, such as placement.
func (p Printer) Singular() string { return p.names[1] }

// column is a column of a table.
type column struct {
	Title string
	// Wide columns are shown with -o wide only; flexible ones may be cut, optional ones left out on a narrow screen.
	Wide, Flexible, Optional bool
}

// Row is one thing.
type Row struct {
	Namespace, Name string
	Labels          map[string]string
	// path is what -o name prints where there is no resource.
	path string
	// Cells are the values of the columns.
	Cells []printer.Cell
	// Info is the data for -o json and -o yaml. It holds no ages, so it changes only with the object.
	Info any
}

// Printers are the kinds that get prints.
func Printers() []Printer {
	return []Printer{PlacementPrinter(), clusterPrinter(), setPrinter(), groupPrinter()}
}

// conditionStyle is that of a condition which is good when it is True.
func conditionStyle(status metav1.ConditionStatus) printer.TextStyle {
	switch status {
	case metav1.ConditionTrue:
		return printer.StyleGood
	case metav1.ConditionFalse:
		return printer.StyleBad
	default:
		return printer.StyleWarning
	}
}

// Key identifies a row.
func (r Row) Key() string { return r.Namespace + "/" + r.Name + " " + r.path }

// Object returns the data of a row with the metadata of a Kubernetes object.
func (r Row) Object() (map[string]any, error) {
	data, err := json.Marshal(r.Info)
	if err != nil {
		return nil, fmt.Errorf("encoding the result: %w", err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("encoding the result: %w", err)
	}
	metadata := map[string]any{"name": r.Name, "labels": labelsOf(r.Labels)}
	if r.Namespace != "" {
		metadata["namespace"] = r.Namespace
	}
	if created, ok := out["created"]; ok {
		metadata["creationTimestamp"] = created
	}
	out["metadata"] = metadata
	return out, nil
}

// ResourceName is what -o name prints.
func (r Row) ResourceName(g Printer) string {
	if g.resource == "" {
		return r.path
	}
	return g.resource + "/" + r.Name
}

func labelsOf(in map[string]string) map[string]any {
	out := make(map[string]any, len(in))
	for key, value := range in {
		out[key] = value
	}
	return out
}
