package preflight

import (
	"slices"
	"strings"

	"github.com/berth-project/berth/engine/plan"
)

// Kind is what kind of thing a hub lacks.
type Kind string

// The kinds.
const (
	KindDefinition Kind = "definition"
	KindField      Kind = "field"
	KindPermission Kind = "permission"
)

// Kinds returns every kind.
func Kinds() []Kind { return []Kind{KindDefinition, KindField, KindPermission} }

// Lack is something that a hub lacks.
type Lack struct {
	Kind Kind
	// What names it, Effect says what follows where it is not required.
	What, Effect string
	// Required says that Berth decides nothing without it.
	Required bool
	// Off is the controller that does not run without it; empty where there is none.
	Off string

	// resource and field are those of a field.
	resource, field string
}

// String returns one line for logs and pages.
func (l Lack) String() string {
	effect, remedy := l.Effect, "apply the definitions in config/crd"
	if l.Required {
		effect = "no placement is decided, and every decision stays as it is"
	}
	if l.Kind == KindPermission {
		remedy = "apply config/rbac"
	}
	if l.Off != "" {
		remedy += " and restart the manager"
	}
	return "the hub lacks " + l.What + ": " + effect + "; " + remedy
}

// Finding is what a hub lacks. Its zero value is that of a hub that lacks nothing.
type Finding struct{ Lacks []Lack }

// Required names what Berth decides nothing without, separated by semicolons; empty where nothing is missing.
func (f Finding) Required() string {
	var out []string
	for _, lack := range f.Lacks {
		if lack.Required {
			out = append(out, lack.What)
		}
	}
	return strings.Join(out, "; ")
}

// Off returns the controllers that cannot run, sorted.
func (f Finding) Off() []string {
	var out []string
	for _, lack := range f.Lacks {
		if lack.Off != "" {
			out = append(out, lack.Off)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Dropped returns the fields of the status of placements and decisions that the API server drops.
func (f Finding) Dropped() plan.Dropped {
	var out plan.Dropped
	for _, lack := range f.Lacks {
		field, ok := strings.CutPrefix(lack.field, "status.")
		switch {
		case !ok:
		case lack.resource == placements:
			out.Placement = append(out.Placement, field)
		case lack.resource == decisions:
			out.Decision = append(out.Decision, field)
		}
	}
	return out
}
