package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/reader"
)

const explainUsage = "explain placement NAME, explain manifestworkreplicaset NAME or explain manifestwork NAME"

// explainTarget is what a command line of `kubectl berth explain` names. A name alone is a placement.
type explainTarget struct {
	kind reader.Kind
	name string
	// cluster is the second name, of a set only.
	cluster string
}

// explainedKinds are the kinds that can be explained.
func explainedKinds() []reader.Kind {
	return []reader.Kind{reader.PlacementKind(), reader.WorkSetKind(), reader.WorkKind()}
}

// parseExplainTarget reads KIND NAME, KIND/NAME, or the name of a placement alone; a set may have the name of a cluster after it.
func parseExplainTarget(args []string) (explainTarget, error) {
	args = reader.KindAndName(args)
	if len(args) == 0 {
		return explainTarget{}, errors.New("name the placement: explain placement NAME")
	}
	kinds := explainedKinds()
	at := slices.IndexFunc(kinds, func(k reader.Kind) bool { return k.Is(args[0]) })
	switch {
	case at < 0 && len(args) == 1 && args[0] != "":
		return explainTarget{kind: reader.PlacementKind(), name: args[0]}, nil
	case at < 0:
		var names [][]string
		for _, k := range kinds {
			names = append(names, k.Names)
		}
		return explainTarget{}, reader.UnknownKind(args[0], "use "+explainUsage, names...)
	case len(args) == 1 || args[1] == "":
		return explainTarget{}, fmt.Errorf("name the %s: explain %[1]s NAME", kinds[at].Singular())
	}
	out := explainTarget{kind: kinds[at], name: args[1]}
	rest := args[2:]
	if out.kind.Kind == reader.WorkSetKind().Kind && len(rest) > 0 {
		out.cluster, rest = rest[0], rest[1:]
	}
	if len(rest) > 0 {
		return explainTarget{}, fmt.Errorf("unexpected argument %q: name one %s", rest[0], out.kind.Singular())
	}
	return out, nil
}

// explainArgs checks the arguments of explain.
func explainArgs(cmd *cobra.Command, args []string) error {
	if _, err := parseExplainTarget(args); err != nil {
		return command.NewUsageError(cmd, err)
	}
	return nil
}

// completeTarget names kinds and placements, then what there is of one kind, then clusters of a set.
func (e *explainOptions) completeTarget(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		var out []string
		for _, k := range explainedKinds() {
			out = append(out, k.Singular())
		}
		return append(completion.WithPrefix(out, start), completion.Of(e.HubFlags).Names(cmd.Context(), reader.PlacementKind(), start)...), cobra.ShellCompDirectiveNoFileComp
	}
	for _, k := range explainedKinds()[1:] {
		switch {
		case !k.Is(args[0]):
		case len(args) == 2 && k.Kind == reader.WorkSetKind().Kind:
			return completion.Of(e.HubFlags).Names(cmd.Context(), reader.ClusterKind(), start), cobra.ShellCompDirectiveNoFileComp
		default:
			return completion.Of(e.HubFlags).One(k)(cmd, args[1:], start)
		}
	}
	return completion.Of(e.HubFlags).Placement(cmd, args, start)
}
