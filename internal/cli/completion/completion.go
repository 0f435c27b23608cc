package completion

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
)

// Completer completes arguments and flags with what is on the hub that the command line names.
type Completer struct{ flags *reader.HubFlags }

// Of returns the completer for the hub that flags name.
func Of(flags *reader.HubFlags) Completer { return Completer{flags} }

// Register sets the completion of an existing flag.
func Register(cmd *cobra.Command, flag string, by cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic("cli: " + err.Error())
	}
}

// HubFlags sets the completion of the flags of a hub, and of flags with names of clusters.
func (c Completer) HubFlags(cmd *cobra.Command, ofClusters ...string) {
	Register(cmd, "namespace", c.All(reader.NamespaceKind()))
	Register(cmd, "context", c.config(func(in clientcmdapi.Config) []string { return printer.SortedKeys(in.Contexts) }))
	Register(cmd, "user", c.config(func(in clientcmdapi.Config) []string { return printer.SortedKeys(in.AuthInfos) }))
	if !slices.Contains(ofClusters, "cluster") {
		Register(cmd, "cluster", c.config(func(in clientcmdapi.Config) []string { return printer.SortedKeys(in.Clusters) }))
	}
	for _, flag := range ofClusters {
		Register(cmd, flag, c.All(reader.ClusterKind()))
	}
}

// Outputs names forms. What goes on after a = gets no space.
func Outputs(outputs []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
		found := WithPrefix(slices.Clone(outputs), start)
		if slices.ContainsFunc(found, func(form string) bool { return !strings.HasSuffix(form, "=") }) {
			return found, cobra.ShellCompDirectiveNoFileComp
		}
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// config names entries of the kubeconfig.
func (c Completer) config(entries func(clientcmdapi.Config) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
		raw, err := c.flags.Loader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return WithPrefix(entries(raw), start), cobra.ShellCompDirectiveNoFileComp
	}
}

// All completes the names of a kind.
func (c Completer) All(k reader.Kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
		return c.Names(cmd.Context(), k, start), cobra.ShellCompDirectiveNoFileComp
	}
}

// One names what there is of a kind, for a command that takes one.
func (c Completer) One(k reader.Kind) cobra.CompletionFunc {
	all := c.All(k)
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return all(cmd, args, start)
	}
}

// Placement names placements, after the name of their kind or without it.
func (c Completer) Placement(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	placement := reader.PlacementKind()
	if len(args) == 0 {
		out := WithPrefix([]string{placement.Singular()}, start)
		return append(out, c.Names(cmd.Context(), placement, start)...), cobra.ShellCompDirectiveNoFileComp
	}
	if placement.Is(args[0]) {
		args = args[1:]
	}
	return c.One(placement)(cmd, args, start)
}

// WithPrefix returns the names with a prefix, in the memory of the given names.
func WithPrefix(in []string, with string) []string {
	return slices.DeleteFunc(in, func(name string) bool { return !strings.HasPrefix(name, with) })
}
