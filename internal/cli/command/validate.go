package command

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/source/file"
)

// ValidateFlag is the flag --validate of commands that check files.
type ValidateFlag struct{ Level file.Validation }

// Add adds the flag to a command.
func (v *ValidateFlag) Add(to *cobra.Command) {
	to.Flags().StringVar((*string)(&v.Level), "validate", string(file.Strict),
		"`level` of checks for unknown fields and kinds: strict refuses them, warn drops them with a warning, ignore drops them")
	levels := []string{string(file.Strict), string(file.Warn), string(file.Ignore)}
	completion.Register(to, "validate", cobra.FixedCompletions(levels, cobra.ShellCompDirectiveNoFileComp))
}

// ErrNoPlacement is the answer to files that decide nothing: most likely they are the wrong ones.
var ErrNoPlacement = errors.New("no Placement is given, so there is nothing to decide: give the file that has it")
