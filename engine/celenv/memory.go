package celenv

import (
	"time"

	"k8s.io/utils/lru"

	"github.com/berth-project/berth/engine/fleet"
)

// memory is what an expression said of clusters. A cluster is immutable, so it says the same again, at the same cost, while
// the one score that it reads is the same and the instant is, too.
type memory map[occasion]Outcome

// occasion is everything that an expression can read.
type occasion struct {
	cluster *fleet.Cluster
	score   *fleet.Score
	now     time.Time
}

// Remembering returns an Env for those who run almost the same many times: what it compiles keeps what it says of every
// cluster. It belongs to one goroutine, and so do its expressions; they are to be dropped with it.
func (e *Env) Remembering() *Env {
	return &Env{env: e.env, cache: lru.New(cachedExpressions), forgetful: e}
}

// remembering returns an expression that remembers; itself where it reads more than one score.
func (x *Expression) remembering() *Expression {
	if x == nil || x.reads.anyScore || len(x.reads.scores) > 1 {
		return x
	}
	out := *x
	out.memory = memory{}
	return &out
}

// recall returns what the expression said of a subject, which it is asked for where it has not said it yet.
func (x *Expression) recall(subject Subject) Outcome {
	at := occasion{cluster: subject.Cluster, now: subject.Now}
	if len(x.reads.scores) == 1 {
		at.score = subject.Score(x.reads.scores[0])
	}
	known, ok := x.memory[at]
	if !ok {
		known = x.eval(subject, x.reads.facets)
		x.memory[at] = known
	}
	return known
}
