// Package identifier matches resource identifiers with manifests, on a hub: without a list of the kinds of a member. The resource of
// a kind is the usual plural of it. That is certain for the kinds of Kubernetes, and a guess for custom resources.
//
// It reads nothing but its arguments. Only the outcome Matches is a match.
package identifier

import (
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// Outcome is whether an identifier matches an object. The outcomes are in order: the last is the best.
type Outcome int

const (
	// NoMatch means that the identifier is of other objects.
	NoMatch Outcome = iota
	// KindGiven means that the identifier has a kind where the resource is meant.
	KindGiven
	// Uncertain means that the identifier has a resource that is not the usual plural of the kind of a custom resource.
	Uncertain
	// Matches means that the identifier matches.
	Matches
)

// Match returns whether an identifier matches an object.
func Match(identifier workv1.ResourceIdentifier, kind schema.GroupVersionKind, namespace, name string) Outcome {
	if identifier.Group != kind.Group || !matchText(identifier.Namespace, namespace) || !matchText(identifier.Name, name) {
		return NoMatch
	}
	plural, singular := meta.UnsafeGuessKindToResource(kind)
	switch {
	case identifier.Resource == plural.Resource:
		return Matches
	case strings.EqualFold(identifier.Resource, kind.Kind), identifier.Resource == singular.Resource,
		strings.EqualFold(identifier.Resource, plural.Resource):
		return KindGiven
	case isNative(kind.Group):
		return NoMatch
	default:
		return Uncertain
	}
}

// matchText matches a text with a pattern in which `*` is any text.
func matchText(pattern, text string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == text
	}
	literal := strings.NewReplacer(`\`, `\\`, "?", `\?`, "[", `\[`).Replace(pattern)
	found, err := path.Match(literal, text)
	return err == nil && found
}

// isNative reports whether a group is one of Kubernetes itself.
func isNative(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}
