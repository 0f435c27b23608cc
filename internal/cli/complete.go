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

	"github.com/berth-project/berth/internal/cli/change"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/cli/resource"
)

const (
	// completionTimeout bounds the requests to the hub; the names read by then are returned.
	completionTimeout = 2 * time.Second
	// maxSuggestions is how many names a shell is offered.
	maxSuggestions = 1000
)

// completer completes arguments and flags with what is on the hub that the command line names.
type completer struct{ *reader.HubFlags }

// registerCompletion sets the completion of an existing flag.
func registerCompletion(cmd *cobra.Command, flag string, by cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic("cli: " + err.Error())
	}
}

// completeFlags sets the completion of the flags of a hub, of --output, and of flags with names of clusters.
func (c completer) completeFlags(cmd *cobra.Command, outputs []string, ofClusters ...string) {
	registerCompletion(cmd, "output", completeOutputs(outputs))
	c.completeHubFlags(cmd, ofClusters...)
}

// completeHubFlags does so for a command without --output.
func (c completer) completeHubFlags(cmd *cobra.Command, ofClusters ...string) {
	registerCompletion(cmd, "namespace", c.completeAll(reader.NamespaceKind()))
	registerCompletion(cmd, "context", c.completeConfig(func(in clientcmdapi.Config) []string { return printer.SortedKeys(in.Contexts) }))
	registerCompletion(cmd, "user", c.completeConfig(func(in clientcmdapi.Config) []string { return printer.SortedKeys(in.AuthInfos) }))
	if !slices.Contains(ofClusters, "cluster") {
		registerCompletion(cmd, "cluster", c.completeConfig(func(in clientcmdapi.Config) []string { return printer.SortedKeys(in.Clusters) }))
	}
	for _, flag := range ofClusters {
		registerCompletion(cmd, flag, c.completeAll(reader.ClusterKind()))
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
func (c completer) completeConfig(entries func(clientcmdapi.Config) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
		raw, err := c.Loader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return withPrefix(entries(raw), start), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeDeletion names kinds, then objects as KIND/NAME, or files.
func (c completer) completeDeletion(cmd *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
	word, name, named := strings.Cut(start, "/")
	var out []string
	for _, k := range change.Deletable() {
		switch {
		case !named:
			out = append(out, k.Singular()+"/")
		case k.Is(word) && k.Kind != reader.ScoreKind().Kind:
			for _, found := range c.suggestNames(cmd.Context(), k, name) {
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
func (c completer) completeAll(k reader.Kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
		return c.suggestNames(cmd.Context(), k, start), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeOne names what there is of a kind, for a command that takes one.
func (c completer) completeOne(k reader.Kind) cobra.CompletionFunc {
	all := c.completeAll(k)
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return all(cmd, args, start)
	}
}

// completePlacement names placements, after the name of their kind or without it.
func (c completer) completePlacement(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	placement := reader.PlacementKind()
	if len(args) == 0 {
		out := withPrefix([]string{placement.Singular()}, start)
		return append(out, c.suggestNames(cmd.Context(), placement, start)...), cobra.ShellCompDirectiveNoFileComp
	}
	if placement.Is(args[0]) {
		args = args[1:]
	}
	return c.completeOne(placement)(cmd, args, start)
}

// completeGet names kinds, then what there is of one.
func (c completer) completeGet(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	var out []string
	switch len(args) {
	case 0:
		for _, g := range resource.Printers() {
			out = append(out, g.Plural())
		}
		out = withPrefix(out, start)
	case 1:
		if g, known := resource.PrinterFor(args[0]); known {
			out = c.suggestNames(cmd.Context(), g.Object, start)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeTree names the kinds that have a tree, then what there is of one.
func (c completer) completeTree(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return withPrefix([]string{"cluster", "placement", "manifestworkreplicaset"}, start), cobra.ShellCompDirectiveNoFileComp
	}
	for _, k := range deliveredKinds() {
		if k.Is(args[0]) {
			return c.completeOne(k)(cmd, args[1:], start)
		}
	}
	return c.completeOne(reader.ClusterKind())(cmd, args[1:], start)
}

func withPrefix(in []string, with string) []string {
	return slices.DeleteFunc(in, func(name string) bool { return !strings.HasPrefix(name, with) })
}

// suggestNames returns the names of objects on the hub with a prefix. An error only shortens the result, because a shell has
// no place to print it.
func (c completer) suggestNames(ctx context.Context, k reader.Kind, start string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
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
func (c completer) collectNames(ctx context.Context, k reader.Kind, start string, into *suggestions) {
	h, err := c.Connect(io.Discard, nil)
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
