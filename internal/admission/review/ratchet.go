package review

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// listIndexes matches list indexes in a field path. They change when an earlier item is added or removed.
var listIndexes = regexp.MustCompile(`\[\d+\]`)

// NewErrors returns the errors that an object did not have before, so that old errors, which an older version accepted, do not
// block unrelated changes. An error that only moved within its list is not new. An error that occurs more often than before is.
func NewErrors(before, after field.ErrorList) field.ErrorList {
	known := map[string]int{}
	for _, fault := range before {
		known[fingerprint(fault)]++
	}
	var out field.ErrorList
	for _, fault := range after {
		if known[fingerprint(fault)]--; known[fingerprint(fault)] < 0 {
			out = append(out, fault)
		}
	}
	return out
}

func fingerprint(fault *field.Error) string {
	return fmt.Sprintf("%s %s %v %s", listIndexes.ReplaceAllString(fault.Field, "[]"), fault.Type, fault.BadValue, fault.Detail)
}
