package review

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// listIndexes are the parts of a field's path that change when an item before it in a list comes or goes.
var listIndexes = regexp.MustCompile(`\[\d+\]`)

// NewErrors returns the faults of an object that it did not have before, so that what is wrong already, and was accepted
// by somebody else or an older version, never stands in the way of an unrelated change. A fault that only moved within
// its list is not new; one that occurs more often than before is.
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
