package argocd

import (
	"cmp"
	"slices"
)

// Finding is something that is missing, or that a user should read.
type Finding struct {
	Object  string `json:"object"`
	Message string `json:"message"`
	Remedy  string `json:"remedy"`
}

// Report is the result of a check. Its JSON is stable: fields are added only.
type Report struct {
	Namespace string `json:"namespace"`
	// Placements and Clusters are how many were checked: placements by name, and the clusters that they selected.
	Placements []string `json:"placements"`
	Clusters   int      `json:"clusters"`
	// WithoutSecret are the selected clusters that Argo CD has no cluster Secret for.
	WithoutSecret []string  `json:"withoutSecret"`
	Steps         []Finding `json:"steps"`
	Notes         []Finding `json:"notes"`
}

func (r *Report) step(object, message, remedy string) {
	r.Steps = append(r.Steps, Finding{object, message, remedy})
}

func (r *Report) note(object, message, remedy string) {
	r.Notes = append(r.Notes, Finding{object, message, remedy})
}

// sort orders the notes and removes repeated findings. Steps stay in the order of the check.
func (r *Report) sort() {
	slices.SortStableFunc(r.Notes, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Message, b.Message))
	})
	r.Notes = slices.Compact(r.Notes)
	var steps []Finding
	for _, step := range r.Steps {
		if !slices.Contains(steps, step) {
			steps = append(steps, step)
		}
	}
	r.Steps = append([]Finding{}, steps...)
	r.Notes = append([]Finding{}, r.Notes...)
}
