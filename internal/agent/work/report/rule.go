package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/delivery/expression"
)

// Reasons of the conditions of rules. Each begins with "ConditionRule".
const (
	reasonEvaluated       = "ConditionRuleEvaluated"
	reasonExpressionError = "ConditionRuleExpressionError"
	reasonRuleInvalid     = "ConditionRuleInvalid"
)

// wellKnownComplete is the condition that the type WellKnownConditions has.
const wellKnownComplete = "Complete"

// setRules stores the conditions of the rules of a manifest. Those of rules that are gone are removed.
func (b *built) setRules(m Manifest, work Work) {
	for _, rule := range m.Manifest.Settings.Conditions {
		condition, ok := work.Evaluator.rule(rule, m.Object)
		if !ok || m.Object == nil {
			continue
		}
		condition.ObservedGeneration = work.Generation
		condition.Message = cut(condition.Message, maxManifestMessage)
		setPlain(&b.condition.Conditions, condition, work.Now)
		b.rules = append(b.rules, condition)
	}
	b.condition.Conditions = slices.DeleteFunc(b.condition.Conditions, func(each metav1.Condition) bool {
		return strings.HasPrefix(each.Reason, "ConditionRule") && meta.FindStatusCondition(b.rules, each.Type) == nil
	})
}

// Completes returns whether the rule Complete of a manifest holds for its object: it is then not applied again.
func (e *Evaluator) Completes(rules []workv1.ConditionRule, object *unstructured.Unstructured) bool {
	for _, rule := range rules {
		if rule.Condition == workv1.WorkComplete {
			condition, ok := e.rule(rule, readable(object))
			return ok && condition.Status == metav1.ConditionTrue
		}
	}
	return false
}

// rule returns the condition of a rule; false where it has none for the object.
func (e *Evaluator) rule(rule workv1.ConditionRule, object *unstructured.Unstructured) (metav1.Condition, bool) {
	out := metav1.Condition{Type: rule.Condition, Status: metav1.ConditionUnknown}
	if object == nil {
		return out, false
	}
	switch rule.Type {
	case "WellKnownConditions":
		return wellKnown(rule, object)
	case "CEL":
	default:
		out.Reason, out.Message = reasonRuleInvalid, fmt.Sprintf("The type %q of the rule is unknown", rule.Type)
		return out, usable(out.Type)
	}
	holds, err := e.evaluate(rule.CelExpressions, object)
	if err != nil {
		out.Reason, out.Message = reasonExpressionError, err.Error()
		if !errors.Is(err, expression.ErrMissingField) {
			out.Status = metav1.ConditionFalse
		}
		if out.Type == workv1.WorkProgressing { // False would be a success
			out.Status = metav1.ConditionUnknown
		}
		return out, usable(out.Type)
	}
	return e.evaluated(rule, object, holds), usable(out.Type)
}

// usable returns whether the API server stores a condition of a type, and whether a rule may define it. One wrong name must not keep the
// whole status from being stored.
func usable(kind string) bool {
	switch kind {
	case workv1.WorkApplied, workv1.WorkAvailable, workv1.WorkDeleting, workv1.ManifestStatusFeedbackSynced, workv1.ManifestContended:
		return false
	default:
		return len(validation.IsQualifiedName(kind)) == 0
	}
}

func (e *Evaluator) evaluate(expressions []string, object *unstructured.Unstructured) (bool, error) {
	for _, text := range expressions {
		condition, err := e.conditions.get(text, e.condition)
		if err != nil {
			return false, err
		}
		if holds, err := condition.Evaluate(object.Object); err != nil || !holds {
			return false, err //nolint:wrapcheck // it names the expression
		}
	}
	return true, nil
}

// evaluated returns the condition of a rule that was evaluated.
func (e *Evaluator) evaluated(rule workv1.ConditionRule, object *unstructured.Unstructured, holds bool) metav1.Condition {
	out := metav1.Condition{
		Type: rule.Condition, Status: metav1.ConditionFalse, Reason: reasonEvaluated,
		Message: "Manifest is not " + rule.Condition,
	}
	if holds {
		out.Status, out.Message = metav1.ConditionTrue, "Manifest is "+rule.Condition
	}
	if rule.Message != "" {
		out.Message = rule.Message
	}
	if rule.MessageExpression == "" {
		return out
	}
	message, err := e.messages.get(rule.MessageExpression, e.message)
	if err != nil {
		return out
	}
	if text, err := message.Evaluate(object.Object, holds); err == nil {
		out.Message = text
	}
	return out
}

// wellKnown returns the condition Complete of a Job or a Pod; false for other kinds.
func wellKnown(rule workv1.ConditionRule, object *unstructured.Unstructured) (metav1.Condition, bool) {
	out := metav1.Condition{
		Type: wellKnownComplete, Status: metav1.ConditionFalse, Reason: reasonEvaluated,
		Message: "Manifest is not Complete",
	}
	if rule.Condition != wellKnownComplete {
		return out, false
	}
	var done bool
	switch object.GroupVersionKind().GroupKind().String() {
	case "Job.batch":
		done = conditionOf(object, "Complete") == "True" || conditionOf(object, "Failed") == "True"
	case "Pod":
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase") // another type is no phase
		done = phase == "Succeeded" || phase == "Failed"
	default:
		return out, false
	}
	if done {
		out.Status, out.Message = metav1.ConditionTrue, "Manifest is Complete"
	}
	return out, true
}

// conditionOf returns the status of a condition of an object; empty where it has none.
func conditionOf(object *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions") // another type is no condition
	for _, each := range conditions {
		if condition, ok := each.(map[string]any); ok && condition["type"] == kind {
			status, _ := condition["status"].(string)
			return status
		}
	}
	return ""
}
