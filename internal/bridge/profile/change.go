package profile

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
)

// membership is whether a namespace has a cluster in one of its bound sets.
type membership int

const (
	outside membership = iota
	inside
	// unknown means that the selector of a bound set is wrong: the set may or may not have the cluster.
	unknown
)

// wanted reports whether a namespace has a profile of a cluster. A wrong selector adds no profile and removes none. Stored is the
// profile that the namespace has, of this cluster manager; nil without one.
func (m membership) wanted(stored *multiclusterv1alpha1.ClusterProfile) bool {
	return m == inside || m == unknown && stored != nil
}

// verb is what to do with the profile of one cluster in one namespace.
type verb string

const (
	verbNone   verb = "none"
	verbCreate verb = "create"
	verbUpdate verb = "update"
	verbDelete verb = "delete"
	// verbBlocked means that the profile of this name belongs to another cluster manager. It is not touched.
	verbBlocked verb = "blocked"
)

// change returns what to do with a profile. Want is the desired profile; nil where there must be none. Stored is the profile that the
// namespace has; nil without one.
func change(want, stored *multiclusterv1alpha1.ClusterProfile, of identity) verb {
	switch {
	case stored == nil && want == nil:
		return verbNone
	case stored == nil:
		return verbCreate
	case !of.owns(stored) && want == nil:
		return verbNone
	case !of.owns(stored):
		return verbBlocked
	case stored.DeletionTimestamp != nil:
		return verbNone
	case want == nil:
		return verbDelete
	case sameMetadata(want, stored) && sameStatus(&want.Status, &stored.Status):
		return verbNone
	default:
		return verbUpdate
	}
}

// sameMetadata reports whether the metadata and the spec of two states of a profile are the same.
func sameMetadata(a, b *multiclusterv1alpha1.ClusterProfile) bool {
	return equality.Semantic.DeepEqual(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences) && a.Spec == b.Spec
}

// sameStatus reports whether two states have the same entries in any order. Another client may change the order.
func sameStatus(a, b *multiclusterv1alpha1.ClusterProfileStatus) bool {
	return a.Version == b.Version &&
		sameEntries(a.Conditions, b.Conditions, func(c metav1.Condition) string { return c.Type }) &&
		sameEntries(a.Properties, b.Properties, func(p multiclusterv1alpha1.Property) string { return p.Name }) &&
		sameEntries(a.AccessProviders, b.AccessProviders, func(p multiclusterv1alpha1.AccessProvider) string { return p.Name })
}

func sameEntries[T any](a, b []T, key func(T) string) bool {
	if len(a) != len(b) {
		return false
	}
	sorted := func(in []T) []T {
		byKey := func(x, y T) int { return strings.Compare(key(x), key(y)) }
		if slices.IsSortedFunc(in, byKey) {
			return in
		}
		return slices.SortedFunc(slices.Values(in), byKey)
	}
	return equality.Semantic.DeepEqual(sorted(a), sorted(b))
}
