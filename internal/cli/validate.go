package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/berth-project/berth/internal/source/file"
)

// validateFlag is the flag --validate of commands that check files.
type validateFlag struct{ file.Validation }

func (v *validateFlag) add(to *cobra.Command) {
	to.Flags().StringVar((*string)(&v.Validation), "validate", string(file.Strict),
		"`level` of checks for unknown fields and kinds: strict refuses them, warn drops them with a warning, ignore drops them")
	levels := []string{string(file.Strict), string(file.Warn), string(file.Ignore)}
	registerCompletion(to, "validate", cobra.FixedCompletions(levels, cobra.ShellCompDirectiveNoFileComp))
}

// errNoPlacement is the answer to files that decide nothing: most likely they are the wrong ones.
var errNoPlacement = errors.New("no Placement is given, so there is nothing to decide: give the file that has it")
