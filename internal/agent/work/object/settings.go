package object

import (
	"strings"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// Strategies of writes.
const (
	Update          workv1.UpdateStrategyType = "Update"
	CreateOnly      workv1.UpdateStrategyType = "CreateOnly"
	ServerSideApply workv1.UpdateStrategyType = "ServerSideApply"
	ReadOnly        workv1.UpdateStrategyType = "ReadOnly"
)

// Settings is what a work sets for one object.
type Settings struct {
	Strategy   workv1.UpdateStrategy
	Feedback   []workv1.FeedbackRule
	Conditions []workv1.ConditionRule
}

// settingsOf returns the settings of an object: each from the first entry that matches the object and has it.
func settingsOf(spec *workv1.ManifestWorkSpec, id ID) Settings {
	out := Settings{Strategy: workv1.UpdateStrategy{Type: Update}}
	found := false
	for _, config := range spec.ManifestConfigs {
		if !matches(config.ResourceIdentifier, id) {
			continue
		}
		if config.UpdateStrategy != nil && !found {
			out.Strategy, found = *config.UpdateStrategy, true
		}
		if out.Feedback == nil {
			out.Feedback = config.FeedbackRules
		}
		if out.Conditions == nil {
			out.Conditions = config.ConditionRules
		}
	}
	if out.Strategy.Type == "" {
		out.Strategy.Type = Update
	}
	return out
}

func matches(pattern workv1.ResourceIdentifier, id ID) bool {
	return pattern.Group == id.Group && pattern.Resource == id.Resource && glob(pattern.Namespace, id.Namespace) && glob(pattern.Name, id.Name)
}

// glob returns whether a text matches a pattern in which `*` stands for any text.
func glob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, parts[last])
}

// Orphans returns which objects stay on the member when a work goes.
func Orphans(option *workv1.DeleteOption) func(ID) bool {
	if option == nil {
		return func(ID) bool { return false }
	}
	return func(id ID) bool {
		switch option.PropagationPolicy {
		case workv1.DeletePropagationPolicyTypeOrphan:
			return true
		case workv1.DeletePropagationPolicyTypeSelectivelyOrphan:
			if option.SelectivelyOrphan == nil {
				return false
			}
			for _, rule := range option.SelectivelyOrphan.OrphaningRules {
				if (ID{Group: rule.Group, Resource: rule.Resource, Namespace: rule.Namespace, Name: rule.Name}) == id {
					return true
				}
			}
			return false
		default:
			return false
		}
	}
}
