package filter

// LimitCost sets how much the evaluation of a run may still cost.
func (m *PredicateResult) LimitCost(cost uint64) { m.evaluation.limit = m.evaluation.spent + cost }
