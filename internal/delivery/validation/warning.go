package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/delivery/identifier"
)

// namespaced are the kinds of Kubernetes that exist only in a namespace.
var namespaced = map[string]sets.Set[string]{ //nolint:gochecknoglobals // a constant that Go cannot spell
	"": sets.New("ConfigMap", "Endpoints", "LimitRange", "PersistentVolumeClaim", "Pod", "PodTemplate", "ReplicationController",
		"ResourceQuota",
		"Secret", "Service", "ServiceAccount"),
	"apps":                      sets.New("ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
	"autoscaling":               sets.New("HorizontalPodAutoscaler"),
	"batch":                     sets.New("CronJob", "Job"),
	"coordination.k8s.io":       sets.New("Lease"),
	"networking.k8s.io":         sets.New("Ingress", "NetworkPolicy"),
	"policy":                    sets.New("PodDisruptionBudget"),
	"rbac.authorization.k8s.io": sets.New("Role", "RoleBinding"),
}

// containers are the kinds whose deletion deletes other objects.
var containers = map[schema.GroupKind]string{ //nolint:gochecknoglobals // a constant that Go cannot spell
	{Kind: "Namespace"}: "all objects in it",
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: "all its custom resources",
}

// warnings returns what is valid but probably a mistake.
func warnings(spec *workv1.ManifestWorkSpec, list []manifest, path *field.Path) []string {
	if len(list) == 0 {
		return nil // each setting would match nothing
	}
	out := configWarnings(spec.ManifestConfigs, list, path.Child("manifestConfigs"))
	out = append(out, orphanWarnings(spec.DeleteOption, list, path.Child("deleteOption"))...)
	for _, m := range list {
		if m.namespace == "" && namespaced[m.kind.Group].Has(m.kind.Kind) {
			out = append(out, fmt.Sprintf("%s has no namespace, so no member can apply it: set metadata.namespace", m))
		}
		if what := containers[m.kind.GroupKind()]; what != "" && deletes(spec.DeleteOption, m) {
			out = append(out, fmt.Sprintf("deleting the work may delete the %s and %s: propagationPolicy SelectivelyOrphan keeps it", m, what))
		}
		if m.kind.GroupKind() == (schema.GroupKind{Kind: "Secret"}) && m.hasData {
			out = append(out, fmt.Sprintf("every user who may read this object may read the values of the %s", m))
		}
	}
	return out
}

func configWarnings(configs []workv1.ManifestConfigOption, list []manifest, path *field.Path) []string {
	var out []string
	for i := range configs {
		config, at := &configs[i], path.Index(i)
		out = append(out, matchWarning(config.ResourceIdentifier, list, at.Child("resourceIdentifier"))...)
		strategy := config.UpdateStrategy
		if strategy != nil && strategy.ServerSideApply != nil && strategy.Type != serverSideApply {
			out = append(out, fmt.Sprintf("%s has no effect with type %s", at.Child("updateStrategy", "serverSideApply"), strategy.Type))
		}
		for j, rule := range config.ConditionRules {
			if rule.Type == wellKnownConditions && rule.Condition != "Complete" {
				out = append(out, fmt.Sprintf("%s: only Complete is well known, so %q is never reported", at.Child("conditionRules").Index(j),
					rule.Condition))
			}
		}
	}
	return out
}

// orphanWarnings warns of rules that keep no object, since their objects are deleted.
func orphanWarnings(option *workv1.DeleteOption, list []manifest, path *field.Path) []string {
	if option == nil || option.SelectivelyOrphan == nil {
		return nil
	}
	if option.PropagationPolicy != workv1.DeletePropagationPolicyTypeSelectivelyOrphan {
		return []string{fmt.Sprintf("%s has no effect with propagationPolicy %s", path.Child("selectivelyOrphans"), option.PropagationPolicy)}
	}
	var out []string
	for i, rule := range option.SelectivelyOrphan.OrphaningRules {
		at := path.Child("selectivelyOrphans", "orphaningRules").Index(i)
		for _, text := range []string{rule.Namespace, rule.Name} {
			if text == "*" {
				out = append(out, fmt.Sprintf("%s: \"*\" is no pattern in an orphaning rule, so the objects are deleted: name each of them", at))
			}
		}
		out = append(out, matchWarning(workv1.ResourceIdentifier(rule), list, at)...)
	}
	return out
}

// matchWarning warns of an identifier that matches no manifest.
func matchWarning(wanted workv1.ResourceIdentifier, list []manifest, path *field.Path) []string {
	switch match(wanted, list) {
	case identifier.KindGiven:
		return []string{fmt.Sprintf("%s matches no manifest: write the resource, the plural in lower case, not %q", path, wanted.Resource)}
	case identifier.NoMatch:
		return []string{fmt.Sprintf("%s matches no manifest: group, resource, namespace and name must be those of one", path)}
	default:
		return nil
	}
}

// deletes reports whether the object of a manifest is deleted with the work.
func deletes(option *workv1.DeleteOption, m manifest) bool {
	if option == nil {
		return true
	}
	switch option.PropagationPolicy {
	case workv1.DeletePropagationPolicyTypeOrphan:
		return false
	case workv1.DeletePropagationPolicyTypeSelectivelyOrphan:
		if option.SelectivelyOrphan == nil {
			return true
		}
		for _, rule := range option.SelectivelyOrphan.OrphaningRules {
			if matchOne(workv1.ResourceIdentifier(rule), m) >= identifier.Uncertain {
				return false
			}
		}
		return true
	default:
		return true
	}
}
