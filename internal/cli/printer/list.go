package printer

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// List is a v1 List as kubectl prints it.
type List struct {
	metav1.TypeMeta `json:",inline"`

	Items    []any           `json:"items"`
	Metadata metav1.ListMeta `json:"metadata"`
}
