package validation

import workv1 "github.com/berth-project/berth/api/work/v1"

const (
	wellKnownStatus     workv1.FeedbackRuleType   = "WellKnownStatus"
	wellKnownConditions workv1.ConditionRuleType  = "WellKnownConditions"
	celRule             workv1.ConditionRuleType  = "CEL"
	serverSideApply     workv1.UpdateStrategyType = "ServerSideApply"
)
