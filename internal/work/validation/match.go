package validation

import (
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// outcome is whether an identifier matches a manifest. A hub has no list of the kinds of members, so the resource of a kind is the
// usual plural of it. That is certain for the kinds of Kubernetes, and a guess for custom resources.
type outcome int

const (
	noMatch outcome = iota
	kindGiven
	uncertain
	matches
)

// match returns the best outcome over all manifests.
func match(identifier workv1.ResourceIdentifier, list []manifest) outcome {
	best := noMatch
	for _, m := range list {
		best = max(best, matchOne(identifier, m))
	}
	return best
}

func matchOne(identifier workv1.ResourceIdentifier, m manifest) outcome {
	if identifier.Group != m.kind.Group || !matchText(identifier.Namespace, m.namespace) || !matchText(identifier.Name, m.name) {
		return noMatch
	}
	plural, singular := meta.UnsafeGuessKindToResource(m.kind)
	switch {
	case identifier.Resource == plural.Resource:
		return matches
	case strings.EqualFold(identifier.Resource, m.kind.Kind), identifier.Resource == singular.Resource, strings.EqualFold(identifier.Resource, plural.Resource):
		return kindGiven
	case isNative(m.kind.Group):
		return noMatch
	default:
		return uncertain
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
