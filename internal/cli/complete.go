package cli

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// completionLimit is how long the hub may take to name what could be meant; then those that it has named will do.
	completionLimit = 2 * time.Second
	// maxSuggestions is how many names a shell is offered.
	maxSuggestions = 1000
)

// completeFlags lets a shell complete the values of flags, among them those that name clusters.
func (f *hubFlags) completeFlags(cmd *cobra.Command, outputs []string, ofClusters ...string) {
	complete := map[string]cobra.CompletionFunc{
		"output":    cobra.FixedCompletions(outputs, cobra.ShellCompDirectiveNoFileComp),
		"namespace": f.completeAll(namespaceKind()),
		"context": func(_ *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
			return starting(f.contexts(), start), cobra.ShellCompDirectiveNoFileComp
		},
	}
	for _, flag := range ofClusters {
		complete[flag] = f.completeAll(clusterKind())
	}
	for flag, complete := range complete {
		_ = cmd.RegisterFlagCompletionFunc(flag, complete) // it fails for a flag that is not there, which then needs no completion
	}
}

// completeAll names what there is of a kind, whatever was named already.
func (f *hubFlags) completeAll(k kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
		return f.suggest(cmd.Context(), k, start), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeOne names what there is of a kind, for a command that takes one.
func (f *hubFlags) completeOne(k kind) cobra.CompletionFunc {
	all := f.completeAll(k)
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return all(cmd, args, start)
	}
}

// completeGet names kinds, then what there is of one.
func (f *hubFlags) completeGet(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	var out []string
	switch len(args) {
	case 0:
		for _, g := range glances() {
			out = append(out, g.plural())
		}
		out = starting(out, start)
	case 1:
		if g, known := glanceOf(args[0]); known {
			out = f.suggest(cmd.Context(), g.object, start)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeTree names the kind that has a tree, then clusters.
func (f *hubFlags) completeTree(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return starting([]string{"cluster"}, start), cobra.ShellCompDirectiveNoFileComp
	}
	return f.completeOne(clusterKind())(cmd, args[1:], start)
}

func starting(in []string, with string) []string {
	return slices.DeleteFunc(in, func(name string) bool { return !strings.HasPrefix(name, with) })
}

// suggest returns the names of objects on the hub that begin in a certain way. Whatever goes wrong, there is only less to
// suggest: a shell has no place for errors, and its user no patience.
func (f *hubFlags) suggest(ctx context.Context, k kind, start string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionLimit)
	defer cancel()
	var found suggestions
	finished := make(chan struct{})
	go func() { // on its own, since what logs a user in need not heed the context
		defer close(finished)
		f.collect(ctx, k, start, &found)
	}()
	select {
	case <-finished:
	case <-ctx.Done():
	}
	return found.sorted()
}

// collect reads names from the hub until it has all, enough, or no more time.
func (f *hubFlags) collect(ctx context.Context, k kind, start string, into *suggestions) {
	h, err := f.open(io.Discard, nil)
	if err != nil {
		return
	}
	of := part{}
	if k.namespaced {
		of.namespace = h.namespace
	}
	gvk := k.version.WithKind(k.kind + "List")
	k.list = func() client.ObjectList {
		out := &metav1.PartialObjectMetadataList{}
		out.SetGroupVersionKind(gvk)
		return out
	}
	_, _ = h.each(ctx, k, of, func() {}, func(object client.Object) { // what was read before an error is worth having
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
	return sorted(s.names)
}

// contexts names the contexts of the kubeconfig.
func (f *hubFlags) contexts() []string {
	raw, err := f.loader().RawConfig()
	if err != nil {
		return nil
	}
	return sortedKeys(raw.Contexts)
}
