package permission

import (
	"context"
	"sync"
)

// maxParallel is how many reviews run at the same time.
const maxParallel = 16

// Authorizer looks up the permissions of a user. It must be safe for concurrent use.
type Authorizer interface {
	// HasAny reports whether the user has at least one of the permissions.
	HasAny(ctx context.Context, oneOf ...Permission) (bool, error)
}

// FirstMissing returns the index of the first need that is not met, or -1. A need is met by any one of its permissions. The first
// need is looked up alone: a user without any permission gets the error soon, and a permission that meets all needs is cached
// for the others. They are looked up in batches, until a batch has a need that is not met or whose lookup fails.
func FirstMissing(ctx context.Context, authorizer Authorizer, needs [][]Permission) (int, error) {
	size := 1
	for start := 0; start < len(needs); start, size = start+size, maxParallel {
		batch := needs[start:min(start+size, len(needs))]
		met, errs := make([]bool, len(batch)), make([]error, len(batch))
		var group sync.WaitGroup
		for i, anyOf := range batch {
			group.Go(func() { met[i], errs[i] = authorizer.HasAny(ctx, anyOf...) })
		}
		group.Wait()
		for i := range batch {
			if errs[i] != nil || !met[i] {
				return start + i, errs[i]
			}
		}
	}
	return -1, nil
}
