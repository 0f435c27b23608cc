package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// ofPlacements returns a command that does nothing itself: what it does to placements is the command below it.
func ofPlacements(use, short string, below *cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Long:  short + ".",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{cmd, fmt.Errorf("unknown kind %q: use %s placement NAME", args[0], use)}
			}
			return usageError{cmd, fmt.Errorf("say of what: %s placement NAME", use)}
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(below)
	return cmd
}

// onePlacement takes the name of one placement.
func onePlacement(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 || args[0] == "":
		return usageError{cmd, fmt.Errorf("name the placement: %s placement NAME", cmd.Parent().Name())}
	case len(args) > 1:
		return usageError{cmd, fmt.Errorf("unexpected argument %q: name one placement", args[1])}
	default:
		return nil
	}
}
