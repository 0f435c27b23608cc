package explain

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/reader"
)

const usage = "explain placement NAME, explain manifestworkreplicaset NAME or explain manifestwork NAME"

// target is what a command line of `kubectl berth explain` names. A name alone is a placement.
type target struct {
	kind reader.Kind
	name string
	// cluster is the second name, of a set only.
	cluster string
}

// explainedKinds are the kinds that can be explained.
func explainedKinds() []reader.Kind {
	return []reader.Kind{reader.PlacementKind(), reader.WorkSetKind(), reader.WorkKind()}
}

// parseTarget reads KIND NAME, KIND/NAME, or the name of a placement alone; a set may have the name of a cluster after it.
func parseTarget(args []string) (target, error) {
	args = reader.KindAndName(args)
	if len(args) == 0 {
		return target{}, errors.New("name the placement: explain placement NAME")
	}
	kinds := explainedKinds()
	at := slices.IndexFunc(kinds, func(k reader.Kind) bool { return k.Is(args[0]) })
	switch {
	case at < 0 && len(args) == 1 && args[0] != "":
		return target{kind: reader.PlacementKind(), name: args[0]}, nil
	case at < 0:
		var names [][]string
		for _, k := range kinds {
			names = append(names, k.Names)
		}
		return target{}, reader.UnknownKind(args[0], "use "+usage, names...)
	case len(args) == 1 || args[1] == "":
		return target{}, fmt.Errorf("name the %s: explain %[1]s NAME", kinds[at].Singular())
	}
	out := target{kind: kinds[at], name: args[1]}
	rest := args[2:]
	if out.kind.Kind == reader.WorkSetKind().Kind && len(rest) > 0 {
		out.cluster, rest = rest[0], rest[1:]
	}
	if len(rest) > 0 {
		return target{}, fmt.Errorf("unexpected argument %q: name one %s", rest[0], out.kind.Singular())
	}
	return out, nil
}

// checkArguments checks the arguments of explain.
func checkArguments(cmd *cobra.Command, args []string) error {
	if _, err := parseTarget(args); err != nil {
		return command.NewUsageError(cmd, err)
	}
	return nil
}

// completeTarget names kinds and placements, then what there is of one kind, then clusters of a set.
func (o *options) completeTarget(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		var out []string
		for _, k := range explainedKinds() {
			out = append(out, k.Singular())
		}
		return append(completion.WithPrefix(out, start),
			completion.Of(o.HubFlags).Names(cmd.Context(), reader.PlacementKind(), start)...), cobra.ShellCompDirectiveNoFileComp
	}
	for _, k := range explainedKinds()[1:] {
		switch {
		case !k.Is(args[0]):
		case len(args) == 2 && k.Kind == reader.WorkSetKind().Kind:
			return completion.Of(o.HubFlags).Names(cmd.Context(), reader.ClusterKind(), start), cobra.ShellCompDirectiveNoFileComp
		default:
			return completion.Of(o.HubFlags).One(k)(cmd, args[1:], start)
		}
	}
	return completion.Of(o.HubFlags).Placement(cmd, args, start)
}
