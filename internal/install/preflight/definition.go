package preflight

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	"github.com/berth-project/berth/config"
	crd "github.com/berth-project/berth/internal/install/definition"
)

const (
	group      = "cluster.open-cluster-management.io"
	addOnGroup = "addon.open-cluster-management.io"
)

// The resources whose definitions are compared.
const (
	clusters   = "managedclusters"
	sets       = "managedclustersets"
	bindings   = "managedclustersetbindings"
	scores     = "addonplacementscores"
	decisions  = "placementdecisions"
	placements = "placements"
)

// requirement is a version of a resource that Berth reads or writes. An API server silently drops fields that its definition
// lacks, so that a missing field would look like a choice of the user.
type requirement struct {
	resource, version string
	// required are the fields that every decision needs. All other shipped fields are compared as well.
	required []string
}

func requirements() []requirement {
	return []requirement{
		{clusters, "v1", []string{
			"spec.taints.key", "spec.taints.effect", "spec.taints.value", "spec.taints.timeAdded",
			"spec.leaseDurationSeconds", "status.allocatable", "status.capacity", "status.clusterClaims", "status.conditions",
		}},
		{sets, "v1beta2", []string{"spec.clusterSelector.selectorType", "spec.clusterSelector.labelSelector"}},
		{bindings, "v1beta2", []string{"spec.clusterSet"}},
		{scores, "v1alpha1", []string{"status.scores.name", "status.scores.value", "status.validUntil"}},
		{decisions, "v1beta1", []string{"status.decisions.clusterName", "status.decisions.reason"}},
		{placements, "v1beta1", []string{
			"spec.clusterSets", "spec.numberOfClusters", "spec.tolerations.tolerationSeconds",
			"spec.predicates.requiredClusterSelector.labelSelector",
			"spec.predicates.requiredClusterSelector.claimSelector",
			"spec.predicates.requiredClusterSelector.celSelector.celExpressions",
			"spec.prioritizerPolicy.mode", "spec.prioritizerPolicy.configurations.scoreCoordinate.addOn", "spec.spreadPolicy",
			"spec.decisionStrategy.groupStrategy.decisionGroups.groupClusterSelector",
			"spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup",
			"status.conditions", "status.numberOfSelectedClusters", "status.decisionGroups.clusterCount",
		}},
	}
}

// optionalDefinition is a definition that a part needs for some of its work, with the effect of a hub without it.
type optionalDefinition struct {
	name, part, effect string
}

func optionalDefinitions() []optionalDefinition {
	return []optionalDefinition{{
		name: rolloutv1alpha1.Resource("formertemplates").String(), part: partReplicaSet,
		effect: "templates with a Secret are not kept, so that once one has finished no other template of its set starts",
	}, {
		name: rolloutv1alpha1.Resource("rolloutcontrols").String(), part: partReplicaSet,
		effect: "no rollout can be paused, approved or forgiven beside its set",
	}}
}

// missingOptional returns the definitions that the parts that run lack for some of their work.
func missingOptional(ctx context.Context, hub client.Reader, runs func(part string) bool) ([]Missing, error) {
	var out []Missing
	for _, need := range optionalDefinitions() {
		if !runs(need.part) {
			continue
		}
		generation, err := generationOf(ctx, hub, need.name)
		if err != nil {
			return nil, err
		}
		if generation == 0 {
			out = append(out, Missing{Kind: KindDefinition, What: whatDefinition + need.name, Effect: need.effect})
		}
	}
	return out, nil
}

// whatDefinition begins the name of a missing definition.
const whatDefinition = "the definition of "

// generationOf returns the generation of a definition, 0 for a missing one.
func generationOf(ctx context.Context, hub client.Reader, name string) (int64, error) {
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	err := hub.Get(ctx, client.ObjectKey{Name: name}, definition)
	if client.IgnoreNotFound(err) != nil {
		return 0, fmt.Errorf("reading the generation of the definition of %s: %w", name, err)
	}
	return definition.Generation, nil
}

// statusOnlyControllers are the controllers that only write a status, by the field that they write.
func statusOnlyControllers() map[string]string {
	return map[string]string{bindings + " status.conditions": "binding", sets + " status.conditions": "clusterset"}
}

// MissingDefinitions returns what the definitions of a hub lack of those that Berth ships.
func MissingDefinitions(ctx context.Context, hub client.Reader) ([]Missing, error) {
	var out []Missing
	for _, need := range requirements() {
		name := need.resource + "." + group
		definition := &apiextensionsv1.CustomResourceDefinition{}
		err := hub.Get(ctx, client.ObjectKey{Name: name}, definition)
		if apierrors.IsNotFound(err) {
			out = append(out, Missing{Kind: KindDefinition, What: whatDefinition + name, Required: true})
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the definition of %s: %w", name, err)
		}
		want, err := need.schema()
		if err != nil {
			return nil, err
		}
		out = append(out, need.missing(definition, want)...)
	}
	return out, nil
}

// schema returns the schema that Berth ships.
func (r requirement) schema() (*apiextensionsv1.JSONSchemaProps, error) {
	data, err := fs.ReadFile(config.CRDs(), group+"_"+r.resource+".yaml")
	if err != nil {
		return nil, fmt.Errorf("reading the definition of %s that Berth ships: %w", r.resource, err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(data, definition); err != nil {
		return nil, fmt.Errorf("reading the definition of %s that Berth ships: %w", r.resource, err)
	}
	version := r.served(definition)
	if version == nil || version.Schema == nil {
		return nil, fmt.Errorf("reading the definition of %s that Berth ships: there is no version %s", r.resource, r.version)
	}
	return version.Schema.OpenAPIV3Schema, nil
}

// served returns the required version of a definition; nil if it is not served.
func (r requirement) served(definition *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinitionVersion {
	at := slices.IndexFunc(definition.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == r.version && v.Served
	})
	if at < 0 {
		return nil
	}
	return &definition.Spec.Versions[at]
}

// missing returns what a definition lacks of the schema that Berth ships.
func (r requirement) missing(definition *apiextensionsv1.CustomResourceDefinition, want *apiextensionsv1.JSONSchemaProps) []Missing {
	version := r.served(definition)
	if version == nil {
		return []Missing{{Kind: KindDefinition, What: fmt.Sprintf("version %s of %s", r.version, definition.Name), Required: true}}
	}
	have := &apiextensionsv1.JSONSchemaProps{}
	if version.Schema != nil && version.Schema.OpenAPIV3Schema != nil {
		have = version.Schema.OpenAPIV3Schema
	}
	var out []Missing
	for _, field := range crd.MissingFields(want, have) {
		if isOrBelow(field, "spec") || isOrBelow(field, "status") {
			out = append(out, r.missingField(definition.Name, field))
		}
	}
	if version.Subresources == nil || version.Subresources.Status == nil {
		out = append(out, Missing{
			Kind: KindDefinition, What: fmt.Sprintf("the status subresource in %s of %s", r.version, definition.Name), Required: true,
		})
	}
	return out
}

// missingField returns the effect of a missing field.
func (r requirement) missingField(definition, field string) Missing {
	out := Missing{
		Kind: KindField, What: fmt.Sprintf("field %s in %s of %s", field, r.version, definition),
		resource: r.resource, field: field,
		Required: slices.ContainsFunc(r.required, func(required string) bool { return isOrBelow(required, field) || isOrBelow(field, required) }),
	}
	switch controller, reports := statusOnlyControllers()[r.resource+" "+field]; {
	case out.Required:
	case reports:
		out.DisabledController, out.Effect = controller, "the controller "+controller+" does not run"
	case isOrBelow(field, "status"):
		out.Effect = "the API server does not store it"
	default:
		out.Effect = "the API server drops the field, and placements are decided without it"
	}
	return out
}

// isOrBelow returns whether a field is another field or is below it.
func isOrBelow(field, other string) bool {
	return field == other || strings.HasPrefix(field, other+".")
}
