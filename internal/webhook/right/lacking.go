package right

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
)

// atOnce is how many needs are looked into at the same time.
const atOnce = 16

// Haver knows which rights somebody has. It must be safe for concurrent use.
type Haver interface {
	// Has says whether one of some rights is held at least.
	Has(ctx context.Context, oneOf ...Right) (bool, error)
}

// FirstLacking returns the first of some needs that is not met, each met by any one of its rights; -1 where all are. It is the
// same however fast the answers come: whatever precedes the need that is found has been looked into. Once one is not met, or
// cannot be looked up, no more are started. The first is looked into alone: a stranger is told soon, and a right that
// would do for all of them is known when the others start.
func FirstLacking(ctx context.Context, who Haver, needs [][]Right) (int, error) {
	found := &lacking{}
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, oneOf := range needs {
		if found.any() {
			break
		}
		group.Go(func() error {
			if held, err := who.Has(ctx, oneOf...); !held || err != nil {
				found.note(i, err)
			}
			return nil
		})
		if i == 0 {
			_ = group.Wait() // nobody returns an error
		}
	}
	_ = group.Wait() // nobody returns an error
	if found.any() {
		return found.at, found.err
	}
	return -1, nil
}

// lacking is the first need found so far that is not met.
type lacking struct {
	mu    sync.Mutex
	at    int
	found bool
	err   error
}

func (l *lacking) note(at int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.found || at < l.at {
		l.at, l.err, l.found = at, err, true
	}
}

func (l *lacking) any() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.found
}
