package celenv

// ForTrialsAtMost is ForTrials with another limit of outcomes.
func (e *Env) ForTrialsAtMost(outcomes int) *Env { return e.forTrials(outcomes) }

// CachedOutcomes returns how many outcomes an expression caches.
func (e *Expression) CachedOutcomes() int { return len(e.trialCache.outcomes) }
