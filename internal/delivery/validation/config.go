package validation

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/delivery/expression"
)

// conditionType is the pattern of the types of conditions in the schema of statuses. A status with another type cannot be stored.
var conditionType = regexp.MustCompile(
	`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`)

const maxConditionType = 316

// agentConditions are the types of conditions that the agent itself writes.
var agentConditions = sets.New("Applied", "Available", "Deleting", //nolint:gochecknoglobals // a constant that Go cannot spell
	"StatusFeedbackSynced")

// wellKnownValues are the values of `WellKnownStatus` by resource. A value of the same name makes the status impossible to store.
var wellKnownValues = map[string]sets.Set[string]{ //nolint:gochecknoglobals // a constant that Go cannot spell
	"deployments": sets.New("ReadyReplicas", "Replicas", "AvailableReplicas"),
	"daemonsets":  sets.New("NumberReady", "DesiredNumberScheduled", "NumberAvailable"),
	"jobs":        sets.New("JobComplete", "JobSucceeded"),
	"pods":        sets.New("PodReady", "PodPhase"),
}

// configs returns the errors of the settings of single objects.
func (v *Validator) configs(list []workv1.ManifestConfigOption, path *field.Path) field.ErrorList {
	if len(list) > maxConfigs {
		return field.ErrorList{field.TooMany(path, len(list), maxConfigs)}
	}
	if size := expressionBytes(list); size > maxExpressions {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{},
			fmt.Sprintf("its expressions have %d bytes together, at most %d are allowed", size, maxExpressions))}
	}
	var errs field.ErrorList
	for i := range list {
		at := path.Index(i)
		errs = append(errs, feedback(&list[i], at.Child("feedbackRules"))...)
		errs = append(errs, v.conditions(list[i].ConditionRules, at.Child("conditionRules"))...)
		if strategy := list[i].UpdateStrategy; strategy != nil && strategy.ServerSideApply != nil {
			errs = append(errs, ignoredFields(strategy.ServerSideApply.IgnoreFields,
				at.Child("updateStrategy", "serverSideApply", "ignoreFields"))...)
		}
	}
	return errs
}

// expressionBytes returns the length of all expressions, which bounds the effort of compiling them.
func expressionBytes(list []workv1.ManifestConfigOption) int {
	size := 0
	add := func(texts ...string) {
		for _, text := range texts {
			size += len(text)
		}
	}
	for _, config := range list {
		for _, rule := range config.FeedbackRules {
			for _, path := range rule.JSONPaths {
				add(path.Path)
			}
		}
		for _, rule := range config.ConditionRules {
			add(rule.CelExpressions...)
			add(rule.MessageExpression)
		}
		if strategy := config.UpdateStrategy; strategy != nil && strategy.ServerSideApply != nil {
			for _, fields := range strategy.ServerSideApply.IgnoreFields {
				add(fields.JSONPaths...)
				add(fields.JSONPointers...)
				add(fields.JQPathExpressions...)
			}
		}
	}
	return size
}

// feedback returns the errors of the reported values. Their names are unique over all rules of an object.
func feedback(config *workv1.ManifestConfigOption, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	for _, rule := range config.FeedbackRules {
		if rule.Type == wellKnownStatus {
			names = names.Union(wellKnownValues[config.ResourceIdentifier.Resource])
		}
	}
	for i, rule := range config.FeedbackRules {
		for j, value := range rule.JSONPaths {
			at := path.Index(i).Child("jsonPaths").Index(j)
			if value.Name == "" {
				errs = append(errs, field.Required(at.Child("name"), "the reported value needs a name"))
			} else if names.Has(value.Name) {
				errs = append(errs, field.Duplicate(at.Child("name"), value.Name))
			}
			names.Insert(value.Name)
			_, err := expression.JSONPath(value.Path)
			errs = appendInvalid(errs, at.Child("path"), value.Path, err)
		}
	}
	return errs
}

// conditions returns the errors of the rules that derive conditions.
func (v *Validator) conditions(rules []workv1.ConditionRule, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, rule := range rules {
		at := path.Index(i)
		switch {
		case len(rule.Condition) > maxConditionType || rule.Condition != "" && !conditionType.MatchString(rule.Condition):
			errs = append(errs, field.Invalid(at.Child("condition"), rule.Condition,
				fmt.Sprintf("must be a type of a condition, such as Ready or example.com/Ready, of at most %d characters", maxConditionType)))
		case agentConditions.Has(rule.Condition):
			errs = append(errs, field.Invalid(at.Child("condition"), rule.Condition, "the agent itself writes this condition: use another name"))
		}
		if rule.Type != celRule {
			continue
		}
		if len(rule.CelExpressions) == 0 {
			errs = append(errs, field.Required(at.Child("celExpressions"), "a rule of type CEL needs an expression"))
		}
		for j, text := range rule.CelExpressions {
			_, err := v.compiler.Condition(text)
			errs = appendInvalid(errs, at.Child("celExpressions").Index(j), text, err)
		}
		if rule.MessageExpression != "" {
			_, err := v.compiler.Message(rule.MessageExpression)
			errs = appendInvalid(errs, at.Child("messageExpression"), rule.MessageExpression, err)
		}
	}
	return errs
}

// ignoredFields returns the errors of the fields that other clients manage.
func ignoredFields(list []workv1.IgnoreField, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, fields := range list {
		for j, text := range fields.JSONPaths {
			_, err := expression.JSONPathAsJQ(text)
			errs = appendInvalid(errs, path.Index(i).Child("jsonPaths").Index(j), text, err)
		}
		for j, text := range fields.JSONPointers {
			_, err := expression.Pointer(text)
			errs = appendInvalid(errs, path.Index(i).Child("jsonPointers").Index(j), text, err)
		}
		for j, text := range fields.JQPathExpressions {
			_, err := expression.JQPath(text)
			errs = appendInvalid(errs, path.Index(i).Child("jqPathExpressions").Index(j), text, err)
		}
	}
	return errs
}

// maxShown is how many bytes of an invalid text are repeated.
const maxShown = 200

func appendInvalid(errs field.ErrorList, path *field.Path, text string, err error) field.ErrorList {
	if err == nil {
		return errs
	}
	if len(text) > maxShown {
		text = text[:maxShown] + "..."
	}
	return append(errs, field.Invalid(path, text, err.Error()))
}
