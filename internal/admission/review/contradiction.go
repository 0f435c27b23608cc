package review

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/fleet"
)

// Contradiction returns two requirements of a selector that no cluster can meet together, as text, or "". It compares only
// requirements on the same key.
func Contradiction(selector fleet.Selector) string {
	for i, a := range selector {
		for _, b := range selector[i+1:] {
			if a.Source == b.Source && a.Key == b.Key && (excludes(a, b) || excludes(b, a)) {
				return a.String() + " and " + b.String()
			}
		}
	}
	return ""
}

// excludes reports whether b rejects every value that a allows.
func excludes(a, b fleet.Requirement) bool {
	switch a.Operator {
	case metav1.LabelSelectorOpIn:
		switch b.Operator {
		case metav1.LabelSelectorOpIn:
			return !slices.ContainsFunc(a.Values, func(value string) bool { return slices.Contains(b.Values, value) })
		case metav1.LabelSelectorOpNotIn:
			return !slices.ContainsFunc(a.Values, func(value string) bool { return !slices.Contains(b.Values, value) })
		default:
			return b.Operator == metav1.LabelSelectorOpDoesNotExist
		}
	case metav1.LabelSelectorOpExists:
		return b.Operator == metav1.LabelSelectorOpDoesNotExist
	default:
		return false
	}
}
