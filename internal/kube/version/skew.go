package version

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

const (
	// maxSkew is how many minor versions two programs may be apart.
	maxSkew = 1
	// maxLabel is how long the value of a label may be.
	maxLabel = 63
)

// Label returns the version as the value of a label, in which "+" is not allowed.
func Label() string {
	out := strings.ReplaceAll(Version(), "+", "_")
	return strings.TrimRight(out[:min(len(out), maxLabel)], "._-")
}

// FromLabel returns the version in a label; empty for an empty label.
func FromLabel(label string) string { return strings.Replace(label, "_", "+", 1) }

// Skew returns why two programs may not work together, such as "the manager v0.3.0 is 2 minor versions ahead of v0.1.0"; empty where they
// do. What names the first program. Versions that are not semantic are not compared.
func Skew(what, theirs, own string) string {
	their, theirErr := version.ParseSemantic(theirs)
	our, ownErr := version.ParseSemantic(own)
	if theirErr != nil || ownErr != nil {
		return ""
	}
	if their.Major() != our.Major() {
		return fmt.Sprintf("%s %s has another major version than %s", what, theirs, own)
	}
	ahead, behind := int(their.Minor())-int(our.Minor()), int(our.Minor())-int(their.Minor())
	switch {
	case ahead > maxSkew:
		return fmt.Sprintf("%s %s is %d minor versions ahead of %s", what, theirs, ahead, own)
	case behind > maxSkew:
		return fmt.Sprintf("%s %s is %d minor versions behind %s", what, theirs, behind, own)
	default:
		return ""
	}
}
