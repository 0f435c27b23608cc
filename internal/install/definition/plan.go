package definition

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/version"
	apiversion "k8s.io/apimachinery/pkg/version"
)

// ReleaseAnnotation has the version of Berth that stored a definition last.
const ReleaseAnnotation = "berth-project.io/definition-release"

// maxNamed bounds the fields that a reason names.
const maxNamed = 5

// Verb is what happens to one definition.
type Verb string

// The verbs of actions.
const (
	// Create stores a definition that the hub lacks.
	Create Verb = "create"
	// Update replaces a definition that has nothing which the new one lacks.
	Update Verb = "update"
	// Keep leaves a definition as it is, because replacing it would lose something.
	Keep Verb = "keep"
)

// Action is what to do with one definition.
type Action struct {
	Verb Verb
	// Definition is the definition of this release, with the older versions that the hub serves.
	Definition *apiextensionsv1.CustomResourceDefinition
	// Reason is why a definition is kept; empty for other verbs.
	Reason string
}

// Plan returns what to do with a definition of this release. Installed is the definition on the hub; nil where the hub lacks it. Release
// is the version of this release. Only semantic versions are compared. A version that is older than all versions of this release stays as
// it is, and stores no objects any more.
func Plan(shipped, installed *apiextensionsv1.CustomResourceDefinition, release string) Action {
	out := Action{Verb: Create, Definition: shipped}
	if installed == nil {
		return out
	}
	if out.Reason = loss(shipped, installed, release); out.Reason != "" {
		out.Verb = Keep
		return out
	}
	out.Verb, out.Definition = Update, withOlder(shipped, installed)
	return out
}

// withOlder returns a definition with the older versions of the installed one.
func withOlder(shipped, installed *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	out := shipped
	for i := range installed.Spec.Versions {
		if have := &installed.Spec.Versions[i]; older(have.Name, shipped) {
			if out == shipped {
				out = shipped.DeepCopy()
			}
			kept := have.DeepCopy()
			kept.Storage = false
			out.Spec.Versions = append(out.Spec.Versions, *kept)
		}
	}
	return out
}

// older returns whether a version is older than all versions of a definition.
func older(name string, than *apiextensionsv1.CustomResourceDefinition) bool {
	return !slices.ContainsFunc(than.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return apiversion.CompareKubeAwareVersionStrings(name, v.Name) >= 0
	})
}

// StorageVersion returns the version in which a definition stores objects.
func StorageVersion(of *apiextensionsv1.CustomResourceDefinition) string {
	for i := range of.Spec.Versions {
		if of.Spec.Versions[i].Storage {
			return of.Spec.Versions[i].Name
		}
	}
	return ""
}

// otherStored returns the versions in which objects may be stored beside that of a definition.
func otherStored(next, installed *apiextensionsv1.CustomResourceDefinition) []string {
	return slices.DeleteFunc(slices.Clone(installed.Status.StoredVersions), func(name string) bool { return name == StorageVersion(next) })
}

// loss returns what the hub would lose if a definition of this release replaced the installed one; empty for nothing.
func loss(shipped, installed *apiextensionsv1.CustomResourceDefinition, release string) string {
	if stored := installed.Annotations[ReleaseAnnotation]; isNewer(stored, release) {
		return fmt.Sprintf("release %s of Berth stored it, and this is %s", stored, release)
	}
	if shipped.Spec.Scope != installed.Spec.Scope {
		return fmt.Sprintf("its scope is %s, and this release has %s", installed.Spec.Scope, shipped.Spec.Scope)
	}
	for i := range installed.Spec.Versions {
		have := &installed.Spec.Versions[i]
		at := slices.IndexFunc(shipped.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == have.Name })
		if at < 0 && older(have.Name, shipped) {
			continue
		}
		if at < 0 {
			return fmt.Sprintf("it has version %s, which this release lacks", have.Name)
		}
		if fields := MissingFields(schemaOf(have), schemaOf(&shipped.Spec.Versions[at])); len(fields) > 0 {
			return fmt.Sprintf("its version %s has fields that this release lacks: %s", have.Name, named(fields))
		}
	}
	return ""
}

// isNewer reports whether a version is newer than another. Versions that are not semantic are not compared.
func isNewer(a, b string) bool {
	first, err := version.ParseSemantic(a)
	if err != nil {
		return false
	}
	second, err := version.ParseSemantic(b)
	return err == nil && second.LessThan(first)
}

func schemaOf(version *apiextensionsv1.CustomResourceDefinitionVersion) *apiextensionsv1.JSONSchemaProps {
	if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
		return &apiextensionsv1.JSONSchemaProps{}
	}
	return version.Schema.OpenAPIV3Schema
}

// named lists the first fields and counts the others.
func named(fields []string) string {
	if len(fields) <= maxNamed {
		return strings.Join(fields, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(fields[:maxNamed], ", "), len(fields)-maxNamed)
}
