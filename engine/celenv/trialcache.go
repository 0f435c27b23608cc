package celenv

import (
	"time"

	"k8s.io/utils/lru"

	"github.com/berth-project/berth/engine/fleet"
)

// mostRemembered is how many outcomes an Env that remembers keeps, of all its expressions together: some 100 bytes each.
// Beyond that expressions are evaluated each time.
const mostRemembered = 500_000

// memory is what an expression said of clusters. A cluster is immutable, so it says the same again, at the same cost, while
// the one score that it reads is the same and the instant is, too.
type memory struct {
	said map[occasion]Outcome
	// room is how many outcomes its Env may keep yet.
	room *int
}

// occasion is everything that an expression can read.
type occasion struct {
	cluster *fleet.Cluster
	score   *fleet.Score
	now     time.Time
}

// Remembering returns an Env for those who run almost the same many times: what it compiles keeps what it says of every
// cluster. It belongs to one goroutine, and so do its expressions; they are to be dropped with it.
func (e *Env) Remembering() *Env {
	return e.remembering(mostRemembered)
}

func (e *Env) remembering(most int) *Env {
	return &Env{env: e.env, macroFreeParser: e.macroFreeParser, cache: lru.New(maxCachedExpressions), forgetful: e, room: &most}
}

// remembering returns an expression that remembers as long as there is room; itself where it reads more than one score.
func (x *Expression) remembering(room *int) *Expression {
	if x == nil || x.reads.anyScore || len(x.reads.scores) > 1 {
		return x
	}
	out := *x
	out.memory = &memory{said: map[occasion]Outcome{}, room: room}
	return &out
}

// recall returns what the expression said of a subject, which it is asked for where it has not said it yet.
func (x *Expression) recall(subject Subject) Outcome {
	at := occasion{cluster: subject.Cluster, now: subject.Now}
	if len(x.reads.scores) == 1 {
		at.score = subject.Score(x.reads.scores[0])
	}
	known, ok := x.memory.said[at]
	if ok {
		return known
	}
	known = x.eval(subject, x.reads.facets)
	if *x.memory.room > 0 {
		x.memory.said[at] = known
		*x.memory.room--
	}
	return known
}
