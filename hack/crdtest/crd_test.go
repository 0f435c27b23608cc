package crdtest

import (
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
)

// The checks include the estimated cost of every CEL rule, which a server refuses when lists and strings have no bound.
func TestServerAcceptsEveryDefinition(t *testing.T) {
	for name, crd := range definitions(t) {
		t.Run(name, func(t *testing.T) {
			crd.Status.StoredVersions = storageVersions(crd)
			for _, err := range validation.ValidateCustomResourceDefinition(t.Context(), crd) {
				t.Error(err)
			}
		})
	}
}

// storageVersions sets the fields that the strategy of a server sets before the validation.
func storageVersions(crd *apiextensions.CustomResourceDefinition) []string {
	var stored []string
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			stored = append(stored, version.Name)
		}
	}
	return stored
}
