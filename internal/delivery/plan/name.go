package plan

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// nameLength bounds the part of a work's name that is from the set.
	nameLength = 40
	// suffixLength is the length of the hash in names and in cut labels.
	suffixLength = 10
)

// WorkName returns the name of the works of a set. It is the same in every cluster and at all times, so a work that is created
// twice already exists.
func WorkName(namespace, set string) string {
	return cut(set, nameLength) + "-" + suffix(namespace+"/"+set)
}

// SetLabelValue returns the value of the label that names the set of a work: `<namespace>.<name>`, cut with a hash where it is too
// long for a label.
func SetLabelValue(namespace, set string) string {
	return labelValue(namespace + "." + set)
}

// PlacementLabelValue returns the value of the label that names a placement, cut with a hash where it is too long for a label.
func PlacementLabelValue(placement string) string { return labelValue(placement) }

func labelValue(text string) string {
	if len(text) <= validation.LabelValueMaxLength {
		return text
	}
	return cut(text, validation.LabelValueMaxLength-suffixLength-1) + "-" + suffix(text)
}

// cut returns the first bytes of a name, without separators at the end.
func cut(name string, length int) string {
	return strings.TrimRight(name[:min(length, len(name))], "-.")
}

// suffix returns a short hash in letters and digits that names may contain.
func suffix(text string) string {
	sum := sha256.Sum256([]byte(text))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:suffixLength]
}

// SetOf returns the namespace and the name of the set that the labels and annotations of a work name. Ok is false where they name
// none. It proves no ownership.
func SetOf(labels, annotations map[string]string) (namespace, set string, ok bool) {
	label := labels[labelSet]
	if label == "" {
		return "", "", false
	}
	if namespace, set, ok = strings.Cut(annotations[annotationOwner], "/"); ok && SetLabelValue(namespace, set) == label {
		return namespace, set, true
	}
	return strings.Cut(label, ".") // a namespace has no dot
}
