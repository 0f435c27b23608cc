package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// need is a version of a resource that the manager reads or writes, with the fields it cannot do without. An API
// server drops fields that its definition lacks without a word, so a missing one would look like a user's choice.
type need struct {
	resource, version string
	fields            []string
}

func needs() []need {
	return []need{
		{"managedclusters", "v1", []string{
			"spec.taints.key", "spec.taints.effect", "spec.taints.value", "spec.taints.timeAdded",
			"spec.leaseDurationSeconds", "status.allocatable", "status.capacity", "status.clusterClaims", "status.conditions",
		}},
		{"managedclustersets", "v1beta2", []string{"spec.clusterSelector.selectorType", "spec.clusterSelector.labelSelector"}},
		{"managedclustersetbindings", "v1beta2", []string{"spec.clusterSet"}},
		{"addonplacementscores", "v1alpha1", []string{"status.scores.name", "status.scores.value", "status.validUntil"}},
		{"placementdecisions", "v1beta1", []string{"status.decisions.clusterName", "status.decisions.reason"}},
		{"placements", "v1beta1", []string{
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

const group = "cluster.open-cluster-management.io"

// preflight returns an error that names everything the hub lacks.
func preflight(ctx context.Context, hub *rest.Config) error {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("registering types: %w", err)
	}
	reader, err := client.New(hub, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("reaching the hub: %w", err)
	}
	var missing []string
	for _, need := range needs() {
		name := need.resource + "." + group
		definition := &apiextensionsv1.CustomResourceDefinition{}
		err := reader.Get(ctx, client.ObjectKey{Name: name}, definition)
		if apierrors.IsNotFound(err) {
			missing = append(missing, "the definition of "+name)
			continue
		}
		if err != nil {
			return fmt.Errorf("reading the definition of %s: %w", name, err)
		}
		missing = append(missing, lacks(definition, need)...)
	}
	if len(missing) > 0 {
		return fmt.Errorf("the hub lacks %s: apply the definitions in config/crd", strings.Join(missing, "; "))
	}
	return nil
}

// lacks names what a definition lacks of what is needed.
func lacks(definition *apiextensionsv1.CustomResourceDefinition, need need) []string {
	at := slices.IndexFunc(definition.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == need.version && v.Served
	})
	if at < 0 {
		return []string{fmt.Sprintf("version %s of %s", need.version, definition.Name)}
	}
	version := definition.Spec.Versions[at]
	var missing []string
	for _, field := range need.fields {
		if version.Schema == nil || !has(version.Schema.OpenAPIV3Schema, strings.Split(field, ".")) {
			missing = append(missing, fmt.Sprintf("field %s in %s of %s", field, need.version, definition.Name))
		}
	}
	if version.Subresources == nil || version.Subresources.Status == nil {
		missing = append(missing, fmt.Sprintf("the status subresource in %s of %s", need.version, definition.Name))
	}
	return missing
}

// has says whether a schema has a field, looking through lists.
func has(schema *apiextensionsv1.JSONSchemaProps, path []string) bool {
	for schema != nil && schema.Items != nil {
		schema = schema.Items.Schema
	}
	switch {
	case schema == nil:
		return false
	case len(path) == 0:
		return true
	case schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields:
		return true
	}
	child, ok := schema.Properties[path[0]]
	return ok && has(&child, path[1:])
}
