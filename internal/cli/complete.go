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
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// completionTimeout bounds the requests to the hub; the names read by then are returned.
	completionTimeout = 2 * time.Second
	// maxSuggestions is how many names a shell is offered.
	maxSuggestions = 1000
)

// registerCompletion sets the completion of an existing flag.
func registerCompletion(cmd *cobra.Command, flag string, by cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic("cli: " + err.Error())
	}
}

// completeFlags sets the completion of the flags of a hub, of --output, and of flags with names of clusters.
func (f *hubFlags) completeFlags(cmd *cobra.Command, outputs []string, ofClusters ...string) {
	registerCompletion(cmd, "output", completeOutputs(outputs))
	f.completeHubFlags(cmd, ofClusters...)
}

// completeHubFlags does so for a command without --output.
func (f *hubFlags) completeHubFlags(cmd *cobra.Command, ofClusters ...string) {
	registerCompletion(cmd, "namespace", f.completeAll(namespaceKind()))
	registerCompletion(cmd, "context", f.completeConfig(func(in clientcmdapi.Config) []string { return sortedKeys(in.Contexts) }))
	registerCompletion(cmd, "user", f.completeConfig(func(in clientcmdapi.Config) []string { return sortedKeys(in.AuthInfos) }))
	if !slices.Contains(ofClusters, "cluster") {
		registerCompletion(cmd, "cluster", f.completeConfig(func(in clientcmdapi.Config) []string { return sortedKeys(in.Clusters) }))
	}
	for _, flag := range ofClusters {
		registerCompletion(cmd, flag, f.completeAll(clusterKind()))
	}
}

// completeOutputs names forms. What goes on after a = gets no space.
func completeOutputs(outputs []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
		found := withPrefix(slices.Clone(outputs), start)
		if slices.ContainsFunc(found, func(form string) bool { return !strings.HasSuffix(form, "=") }) {
			return found, cobra.ShellCompDirectiveNoFileComp
		}
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// completeConfig names entries of the kubeconfig.
func (f *hubFlags) completeConfig(entries func(clientcmdapi.Config) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
		raw, err := f.loader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return withPrefix(entries(raw), start), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeDeletion names kinds, then objects as KIND/NAME, or files.
func (f *hubFlags) completeDeletion(cmd *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
	word, name, named := strings.Cut(start, "/")
	var out []string
	for _, k := range deletable() {
		switch {
		case !named:
			out = append(out, k.singular()+"/")
		case k.is(word) && k.kind != scoreKind().kind:
			for _, found := range f.suggestNames(cmd.Context(), k, name) {
				out = append(out, word+"/"+found)
			}
		}
	}
	if named {
		return out, cobra.ShellCompDirectiveDefault
	}
	return withPrefix(out, start), cobra.ShellCompDirectiveNoSpace
}

// completeAll completes the names of a kind.
func (f *hubFlags) completeAll(k kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
		return f.suggestNames(cmd.Context(), k, start), cobra.ShellCompDirectiveNoFileComp
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

// completePlacement names placements, after the name of their kind or without it.
func (f *hubFlags) completePlacement(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	placement := placementKind()
	if len(args) == 0 {
		out := withPrefix([]string{placement.singular()}, start)
		return append(out, f.suggestNames(cmd.Context(), placement, start)...), cobra.ShellCompDirectiveNoFileComp
	}
	if placement.is(args[0]) {
		args = args[1:]
	}
	return f.completeOne(placement)(cmd, args, start)
}

// completeGet names kinds, then what there is of one.
func (f *hubFlags) completeGet(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	var out []string
	switch len(args) {
	case 0:
		for _, g := range resourcePrinters() {
			out = append(out, g.plural())
		}
		out = withPrefix(out, start)
	case 1:
		if g, known := resourcePrinterFor(args[0]); known {
			out = f.suggestNames(cmd.Context(), g.object, start)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeTree names the kind that has a tree, then clusters.
func (f *hubFlags) completeTree(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return withPrefix([]string{"cluster"}, start), cobra.ShellCompDirectiveNoFileComp
	}
	return f.completeOne(clusterKind())(cmd, args[1:], start)
}

func withPrefix(in []string, with string) []string {
	return slices.DeleteFunc(in, func(name string) bool { return !strings.HasPrefix(name, with) })
}

// suggestNames returns the names of objects on the hub with a prefix. An error only shortens the result, because a shell has
// no place to print it.
func (f *hubFlags) suggestNames(ctx context.Context, k kind, start string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	var found suggestions
	finished := make(chan struct{})
	go func() { // on its own, since what logs a user in need not heed the context
		defer close(finished)
		f.collectNames(ctx, k, start, &found)
	}()
	select {
	case <-finished:
	case <-ctx.Done():
	}
	return found.sorted()
}

// collectNames reads names until it has all, enough, or the context ends.
func (f *hubFlags) collectNames(ctx context.Context, k kind, start string, into *suggestions) {
	h, err := f.connect(io.Discard, nil)
	if err != nil {
		return
	}
	h.useViews = true
	of := listFilter{}
	if k.namespaced {
		of.namespace = h.namespace
	}
	gvk := k.version.WithKind(k.kind + "List")
	k.list = func() client.ObjectList {
		out := &metav1.PartialObjectMetadataList{}
		out.SetGroupVersionKind(gvk)
		return out
	}
	_, _ = h.eachObject(ctx, k, of, func() {}, func(object client.Object) { // what was read before an error is worth having
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
