package completion

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
)

const (
	// timeout bounds the requests to the hub; the names read by then are returned.
	timeout = 2 * time.Second
	// maxSuggestions is how many names a shell is offered.
	maxSuggestions = 1000
)

// Names returns the names of objects on the hub with a prefix. An error only shortens the result, because a shell has
// no place to print it.
func (c Completer) Names(ctx context.Context, k reader.Kind, start string) []string {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var found suggestions
	finished := make(chan struct{})
	go func() { // on its own, since what logs a user in need not heed the context
		defer close(finished)
		c.collectNames(ctx, k, start, &found)
	}()
	select {
	case <-finished:
	case <-ctx.Done():
	}
	return found.sorted()
}

// collectNames reads names until it has all, enough, or the context ends.
func (c Completer) collectNames(ctx context.Context, k reader.Kind, start string, into *suggestions) {
	h, err := c.flags.Connect(io.Discard, nil)
	if err != nil {
		return
	}
	h.UseViews = true
	of := reader.ListFilter{}
	if k.Namespaced {
		of.Namespace = h.Namespace
	}
	gvk := k.Version.WithKind(k.Kind + "List")
	k.List = func() client.ObjectList {
		out := &metav1.PartialObjectMetadataList{}
		out.SetGroupVersionKind(gvk)
		return out
	}
	_, _ = h.EachObject(ctx, k, of, func() {}, func(object client.Object) { // what was read before an error is worth having
		if strings.HasPrefix(object.GetName(), start) {
			into.add(object.GetName())
		}
	})
}

// suggestions are names, collected by one goroutine and read by another.
type suggestions struct {
	mu    sync.Mutex
	names []string
}

func (s *suggestions) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.names) < maxSuggestions {
		s.names = append(s.names, name)
	}
}

func (s *suggestions) sorted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return printer.Sorted(s.names)
}
