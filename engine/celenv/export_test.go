package celenv

// RememberingAtMost is Remembering with room for so many outcomes.
func (e *Env) RememberingAtMost(outcomes int) *Env { return e.remembering(outcomes) }

// Remembered is how many outcomes an expression keeps.
func (x *Expression) Remembered() int { return len(x.memory.said) }
