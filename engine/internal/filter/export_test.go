package filter

// LimitCost sets how much the evaluation of a run may still cost.
func (p *PredicateResult) LimitCost(cost uint64) { p.evaluation.limit = p.evaluation.spent + cost }
