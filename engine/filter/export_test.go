package filter

// Leave is how much the evaluation of a run may still cost.
func (m *Matched) Leave(cost uint64) { m.evaluation.limit = m.evaluation.spent + cost }
