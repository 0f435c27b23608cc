package permission

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
)

// maxParallel is how many needs are looked into at the same time.
const maxParallel = 16

// Authorizer knows which rights somebody has. It must be safe for concurrent use.
type Authorizer interface {
	// HasAny says whether one of some rights is held at least.
	HasAny(ctx context.Context, oneOf ...Permission) (bool, error)
}

// FirstMissing returns the first of some needs that is not met, each met by any one of its rights; -1 where all are. It is the
// same however fast the answers come: whatever precedes the need that is found has been looked into. Once one is not met, or
// cannot be looked up, no more are started. The first is looked into alone: a stranger is told soon, and a right that
// would do for all of them is known when the others start.
func FirstMissing(ctx context.Context, who Authorizer, needs [][]Permission) (int, error) {
	found := &missing{}
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for i, oneOf := range needs {
		if found.isFound() {
			break
		}
		group.Go(func() error {
			if held, err := who.HasAny(ctx, oneOf...); !held || err != nil {
				found.record(i, err)
			}
			return nil
		})
		if i == 0 {
			_ = group.Wait() // nobody returns an error
		}
	}
	_ = group.Wait() // nobody returns an error
	if found.isFound() {
		return found.at, found.err
	}
	return -1, nil
}

// missing is the first need found so far that is not met.
type missing struct {
	mu    sync.Mutex
	at    int
	found bool
	err   error
}

func (l *missing) record(at int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.found || at < l.at {
		l.at, l.err, l.found = at, err, true
	}
}

func (l *missing) isFound() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.found
}
