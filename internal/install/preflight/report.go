package preflight

import (
	"slices"
	"strings"

	"github.com/berth-project/berth/engine/plan"
)

// Kind is the kind of a missing requirement.
type Kind string

// The kinds.
const (
	KindDefinition Kind = "definition"
	KindField      Kind = "field"
	KindPermission Kind = "permission"
)

// Kinds returns every kind.
func Kinds() []Kind { return []Kind{KindDefinition, KindField, KindPermission} }

// Missing is a requirement that a hub lacks.
type Missing struct {
	Kind Kind
	// What names it. Effect is the consequence where it is not required.
	What, Effect string
	// Required is set if no placement is decided while it is missing.
	Required bool
	// DisabledController is the controller that does not run without it; empty if every controller runs.
	DisabledController string

	// resource and field are set for a missing field.
	resource, field string
	// manifests is the folder with a missing permission.
	manifests string
}

// String returns one line for logs and pages.
func (m Missing) String() string {
	effect, remedy := m.Effect, "apply the definitions in config/crd"
	if m.Required {
		effect = "no placement is decided, and every decision stays as it is"
	}
	if m.Kind == KindPermission {
		remedy = "apply " + m.manifests
	}
	if m.DisabledController != "" {
		remedy += " and restart the manager"
	}
	return "the hub lacks " + m.What + ": " + effect + "; " + remedy
}

// Manifests returns the folder that has what is missing.
func (m Missing) Manifests() string {
	if m.Kind == KindPermission {
		return m.manifests
	}
	return "config/crd"
}

// Report is what a hub lacks. Its zero value is the report of a hub that lacks nothing.
type Report struct{ Missing []Missing }

// RequiredMissing names the missing requirements that stop every decision, separated by semicolons; empty if no such
// requirement is missing.
func (r Report) RequiredMissing() string {
	var out []string
	for _, lack := range r.Missing {
		if lack.Required {
			out = append(out, lack.What)
		}
	}
	return strings.Join(out, "; ")
}

// DisabledControllers returns the controllers that cannot run, sorted.
func (r Report) DisabledControllers() []string {
	var out []string
	for _, lack := range r.Missing {
		if lack.DisabledController != "" {
			out = append(out, lack.DisabledController)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// DroppedFields returns the status fields of placements and decisions that the API server drops.
func (r Report) DroppedFields() plan.Dropped {
	var out plan.Dropped
	for _, lack := range r.Missing {
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
