package printer

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

const (
	// MaxMembers is how many clusters of a group are named.
	MaxMembers = 20

	// Dash stands for an absent value in a cell.
	Dash = "-"
)

// Indent indents every line of a text by two spaces.
func Indent(text string) string {
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}

// FormatTime renders an instant in RFC 3339, in UTC.
func FormatTime(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// Age renders how long ago something was; "-" where it never was.
func Age(at *metav1.Time, now time.Time) string {
	if at == nil || at.IsZero() {
		return Dash
	}
	return duration.HumanDuration(max(0, now.Sub(at.Time)))
}

// JoinOrDash joins names with commas; it returns "-" for an empty list.
func JoinOrDash(in []string) string { return cmp.Or(strings.Join(in, ", "), Dash) }

// Sorted returns an empty list rather than none, since readers of JSON range over it.
func Sorted(in []string) []string {
	out := append([]string{}, in...)
	slices.Sort(out)
	return slices.Compact(out)
}

// SortedKeys returns the keys of a map in order.
func SortedKeys[V any](in map[string]V) []string { return slices.Sorted(maps.Keys(in)) }

// PlainCells returns cells that mean nothing in particular.
func PlainCells(in ...string) []Cell {
	out := make([]Cell, 0, len(in))
	for _, text := range in {
		out = append(out, Cell{Text: text})
	}
	return out
}

// TimeOrNil returns nil for the zero time.
func TimeOrNil(at metav1.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	utc := metav1.NewTime(at.UTC())
	return &utc
}

// CreationTime returns the creation time of an object; nil for an object from a file.
func CreationTime(object metav1.Object) *metav1.Time {
	at := object.GetCreationTimestamp()
	return TimeOrNil(at)
}
