package permission

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
)

// maxParallel is how many reviews run at the same time.
const maxParallel = 16

// Authorizer looks up the permissions of a user. It must be safe for concurrent use.
type Authorizer interface {
	// HasAny reports whether the user has at least one of the permissions.
	HasAny(ctx context.Context, oneOf ...Permission) (bool, error)
}

// FirstMissing returns the index of the first need that is not met, or -1. A need is met by any one of its permissions. The
// result does not depend on timing: all earlier needs have been looked up. After a need is not met or its lookup fails, no more
// lookups start. The first need is looked up alone: a user without any permission gets the error soon, and a permission that
// meets all needs is cached when the others start.
func FirstMissing(ctx context.Context, authorizer Authorizer, needs [][]Permission) (int, error) {
	found := &missing{}
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for i, oneOf := range needs {
		if found.isFound() {
			break
		}
		group.Go(func() error {
			if held, err := authorizer.HasAny(ctx, oneOf...); !held || err != nil {
				found.record(i, err)
			}
			return nil
		})
		if i == 0 {
			_ = group.Wait() // no function returns an error
		}
	}
	_ = group.Wait() // no function returns an error
	if found.isFound() {
		return found.at, found.err
	}
	return -1, nil
}

// missing is the first unmet need found so far.
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
