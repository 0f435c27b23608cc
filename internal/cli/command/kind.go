package command

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/reader"
)

// KindArguments are the arguments of a command that shows all objects of a kind or one of them: KIND, KIND NAME or KIND/NAME.
type KindArguments struct {
	Kinds []NamedKind
	// Missing, Excess and Unknown are in the errors for no argument, for too many, and for another kind.
	Missing, Excess, Unknown string
}

// NamedKind is a kind that a command shows.
type NamedKind struct {
	// Names are its names on the command line, the plural first.
	Names []string
	// Object is the kind of the objects that a name is looked up among.
	Object reader.Kind
}

// Parse returns the index of the kind that the arguments name, and the name of the object; it is empty for all objects.
func (k KindArguments) Parse(args []string) (at int, name string, err error) {
	const most = 2
	args = reader.KindAndName(args)
	switch {
	case len(args) == 0:
		return 0, "", errors.New(k.Missing)
	case len(args) > most:
		return 0, "", fmt.Errorf("unexpected argument %q: %s", args[most], k.Excess)
	case len(args) == most:
		name = args[1]
	}
	if at = k.index(args[0]); at >= 0 {
		return at, name, nil
	}
	var names [][]string
	for _, kind := range k.Kinds {
		names = append(names, kind.Names)
	}
	return 0, "", reader.UnknownKind(args[0], k.Unknown, names...)
}

// index returns the index of the kind that a word names; -1 for none.
func (k KindArguments) index(word string) int {
	word = reader.BareKind(word)
	return slices.IndexFunc(k.Kinds, func(kind NamedKind) bool { return slices.Contains(kind.Names, word) })
}

// Complete names kinds, then the objects of one.
func (k KindArguments) Complete(by completion.Completer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		var out []string
		switch len(args) {
		case 0:
			for _, kind := range k.Kinds {
				out = append(out, kind.Names[0])
			}
			out = completion.WithPrefix(out, start)
		case 1:
			if at := k.index(args[0]); at >= 0 {
				out = by.Names(cmd.Context(), k.Kinds[at].Object, start)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
