// Package page reads lists of a hub page by page. It keeps no page: a page is the visitor's once it is visited. The invariant: what one
// page has is never seen in another.
package page

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// Size is how many objects a request lists.
	Size = 500
	// maxPages bounds the pages of a list.
	maxPages = 100_000
)

var (
	errTooMany  = errors.New("the list has too many pages")
	errNotAList = errors.New("its copy is not a list")
)

// Each lists a kind page by page. Each page is a new copy of an empty list: a decoder leaves what a former page had where the next page has
// nothing. Errors of requests are returned as they are; the caller names the kind.
func Each[L client.ObjectList](ctx context.Context, hub client.Reader, empty L, visit func(L) error, options ...client.ListOption) error {
	next := ""
	for range maxPages {
		page, ok := empty.DeepCopyObject().(L)
		if !ok {
			return fmt.Errorf("%T: %w", empty, errNotAList)
		}
		err := hub.List(ctx, page, append([]client.ListOption{client.Limit(Size), client.Continue(next)}, options...)...)
		if err != nil {
			return err //nolint:wrapcheck // the caller names the kind
		}
		if err := visit(page); err != nil {
			return err
		}
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
	return fmt.Errorf("%w: more than %d", errTooMany, maxPages)
}
